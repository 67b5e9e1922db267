#include "client/cli/top/top_screen.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <optional>
#include <string>
#include <string_view>

#include "client/cli/record/suspension.h"

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>
#undef columns  // macros from term.h
#undef lines

namespace ptrace_prof {
namespace {

constexpr int kEscapeDelay = 25;  // ms that separate Escape alone from the beginning of a longer key
constexpr wint_t kCtrlL = 12;

struct StyleRow {
  TopStyle style;
  short foreground;  // -1: the terminal's default
  attr_t attributes;
};
constexpr StyleRow kStyles[] = {
    {TopStyle::kPlain, -1, A_NORMAL},       {TopStyle::kTitle, COLOR_CYAN, A_BOLD},
    {TopStyle::kHeading, -1, A_REVERSE},    {TopStyle::kSelected, -1, A_REVERSE | A_BOLD},
    {TopStyle::kHot, COLOR_RED, A_BOLD},    {TopStyle::kWarm, COLOR_YELLOW, A_NORMAL},
    {TopStyle::kFaint, -1, A_DIM},          {TopStyle::kKeys, -1, A_REVERSE},
    {TopStyle::kNotice, COLOR_RED, A_BOLD},
};

struct KeyRow {
  wint_t code;
  TopKey::Kind kind;
};
constexpr KeyRow kFunctionKeys[] = {
    {KEY_UP, TopKey::Kind::kUp},          {KEY_DOWN, TopKey::Kind::kDown},           {KEY_PPAGE, TopKey::Kind::kPageUp},
    {KEY_NPAGE, TopKey::Kind::kPageDown}, {KEY_HOME, TopKey::Kind::kHome},           {KEY_END, TopKey::Kind::kEnd},
    {KEY_ENTER, TopKey::Kind::kEnter},    {KEY_BACKSPACE, TopKey::Kind::kBackspace},
};
constexpr KeyRow kControlKeys[] = {
    {'\r', TopKey::Kind::kEnter}, {'\n', TopKey::Kind::kEnter},  {'\t', TopKey::Kind::kTab},
    {27, TopKey::Kind::kEscape},  {8, TopKey::Kind::kBackspace}, {127, TopKey::Kind::kBackspace},
};

// The next character of well-formed UTF-8; a malformed one becomes '?'.
wchar_t NextCharacter(std::string_view& text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0x80 || length > text.size()) {
    text.remove_prefix(1);
    return first < 0x80 ? static_cast<wchar_t>(first) : L'?';
  }
  uint32_t value = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    value = (value << 6) | (static_cast<uint8_t>(text[i]) & 0x3f);
  }
  text.remove_prefix(length);
  return static_cast<wchar_t>(value);
}

// As much of the text as fits into `columns`; characters that the terminal cannot show become '?'.
std::wstring Fitted(std::string_view text, int columns, bool utf8) {
  std::wstring fitted;
  int used = 0;
  while (!text.empty()) {
    wchar_t character = NextCharacter(text);
    int width = utf8 || character < 0x80 ? ::wcwidth(character) : -1;
    if (width < 0) {
      character = L'?';
      width = 1;
    }
    used += width;
    if (used > columns) {
      break;
    }
    fitted += character;
  }
  return fitted;
}

std::string Utf8(wint_t character) {
  char bytes[MB_LEN_MAX];
  std::mbstate_t state{};
  const size_t size = std::wcrtomb(bytes, static_cast<wchar_t>(character), &state);
  return size == static_cast<size_t>(-1) ? std::string() : std::string(bytes, size);
}

// Call before newterm(), which would end the process.
Result<void> CheckTerminal() {
  const char* name = std::getenv("TERM");
  int found = 0;
  if (name == nullptr || *name == '\0' || ::setupterm(nullptr, STDOUT_FILENO, &found) != OK) {
    return Error{Code::kUnimplemented, fmt::format("unknown terminal type '{}'", name != nullptr ? name : ""),
                 "set TERM to the type of the terminal, or use --text"};
  }
  const char* move = ::tigetstr("cup");
  const bool can_move = move != nullptr && move != reinterpret_cast<const char*>(-1);
  ::del_curterm(::set_curterm(nullptr));
  if (!can_move) {
    return Error{Code::kUnimplemented, fmt::format("a terminal of type '{}' cannot move its cursor", name),
                 "use another terminal, or --text"};
  }
  return {};
}

}  // namespace

struct TopScreen::Impl {
  SCREEN* screen = nullptr;
  std::FILE* keyboard = nullptr;  // opened by us if it is not stdin
  bool utf8 = false;
  bool colours = false;
  // Created before ncurses, which then leaves these signals alone. Its own handler would draw in the middle of
  // anything, and it ignores SIGTSTP whenever it draws, so that Ctrl-Z sometimes had no effect.
  std::optional<Suspension> suspension;

  int keyboard_fd() const { return ::fileno(keyboard); }
  void SetUp();
  void TakeAgain();
  bool ObeySuspension();  // returns whether the picture must be drawn again
  attr_t AttributesOf(TopStyle style) const;
};

// Uses colours if the terminal has them. Ctrl-\ must not kill us and leave the terminal in this state.
void TopScreen::Impl::SetUp() {
  ::cbreak();
  ::noecho();
  ::set_escdelay(kEscapeDelay);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::leaveok(stdscr, TRUE);
  ::curs_set(0);
  termios modes{};
  if (::tcgetattr(keyboard_fd(), &modes) == 0) {
    modes.c_cc[VQUIT] = _POSIX_VDISABLE;
    ::tcsetattr(keyboard_fd(), TCSANOW, &modes);
    ::def_prog_mode();
  }
  const char* no_color = std::getenv("NO_COLOR");
  colours = (no_color == nullptr || *no_color == '\0') && ::has_colors() && ::start_color() == OK &&
            ::use_default_colors() == OK;
  if (colours) {
    for (const StyleRow& row : kStyles) {
      ::init_pair(static_cast<short>(static_cast<int>(row.style) + 1), row.foreground, -1);
    }
  }
}

// Call after another program had the terminal, which may have changed its size meanwhile.
void TopScreen::Impl::TakeAgain() {
  winsize size{};
  if (::ioctl(keyboard_fd(), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    ::resizeterm(size.ws_row, size.ws_col);
  }
  ::clearok(curscr, TRUE);
  ::wrefresh(stdscr);
}

bool TopScreen::Impl::ObeySuspension() {
  const bool shall_stop = suspension->TakeStopRequest();
  if (!shall_stop && !suspension->TakeContinued()) {
    return false;
  }
  ::endwin();
  if (shall_stop) {
    suspension->StopNow();
    suspension->TakeContinued();
  }
  TakeAgain();
  return true;
}

attr_t TopScreen::Impl::AttributesOf(TopStyle style) const {
  for (const StyleRow& row : kStyles) {
    if (row.style == style) {
      return row.attributes | (colours ? COLOR_PAIR(static_cast<int>(style) + 1) : A_NORMAL);
    }
  }
  return A_NORMAL;
}

Result<std::unique_ptr<TopScreen>> TopScreen::Open() {
  std::setlocale(LC_CTYPE, "");
  PP_RETURN_IF_ERROR(CheckTerminal());
  auto impl = std::make_unique<Impl>();
  impl->utf8 = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
  impl->keyboard = ::isatty(STDIN_FILENO) == 1 ? stdin : std::fopen("/dev/tty", "re");
  if (impl->keyboard == nullptr) {
    return Error{Code::kUnimplemented, "no keyboard: standard input is not a terminal", "use --text"};
  }
  impl->suspension.emplace();
  impl->screen = ::newterm(nullptr, stdout, impl->keyboard);
  if (impl->screen == nullptr) {
    return Error{Code::kUnimplemented, "the screen of this terminal cannot be set up", "use --text"};
  }
  impl->SetUp();
  return std::unique_ptr<TopScreen>(new TopScreen(std::move(impl)));
}

TopScreen::TopScreen(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TopScreen::~TopScreen() {
  impl_->suspension.reset();
  ::endwin();
  ::delscreen(impl_->screen);
  if (impl_->keyboard != stdin) {
    std::fclose(impl_->keyboard);
  }
}

ScreenSize TopScreen::size() const { return {.rows = getmaxy(stdscr), .columns = getmaxx(stdscr)}; }

void TopScreen::Draw(const std::vector<TopLine>& lines) {
  const ScreenSize space = size();
  ::werase(stdscr);
  for (int row = 0; row < space.rows && static_cast<size_t>(row) < lines.size(); ++row) {
    const TopLine& line = lines[static_cast<size_t>(row)];
    const attr_t attributes = impl_->AttributesOf(line.style);
    std::wstring text = Fitted(line.text, space.columns, impl_->utf8);
    if ((attributes & A_REVERSE) != 0) {
      text.append(static_cast<size_t>(space.columns), L' ');  // fills the whole width
    }
    ::wattrset(stdscr, static_cast<int>(attributes));
    ::wmove(stdscr, row, 0);
    ::waddnwstr(stdscr, text.c_str(), static_cast<int>(text.size()));
    ::wattrset(stdscr, A_NORMAL);
  }
  ::wrefresh(stdscr);
}

ScreenInput TopScreen::Read() {
  pollfd keyboard{impl_->keyboard_fd(), POLLIN, 0};
  if (::poll(&keyboard, 1, 0) > 0 && (keyboard.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
    return {.kind = ScreenInput::Kind::kHangUp, .key = {}};
  }
  if (impl_->ObeySuspension()) {
    return {.kind = ScreenInput::Kind::kRedraw, .key = {}};
  }
  wint_t code = 0;
  const int got = ::wget_wch(stdscr, &code);
  if (got == ERR) {
    return {};
  }
  if (got == KEY_CODE_YES && code == KEY_RESIZE) {
    return {.kind = ScreenInput::Kind::kRedraw, .key = {}};
  }
  if (got == OK && code == kCtrlL) {
    ::clearok(curscr, TRUE);
    return {.kind = ScreenInput::Kind::kRedraw, .key = {}};
  }
  for (const KeyRow& row : kFunctionKeys) {
    if (got == KEY_CODE_YES && row.code == code) {
      return {.kind = ScreenInput::Kind::kKey, .key = {.kind = row.kind, .text = {}}};
    }
  }
  for (const KeyRow& row : kControlKeys) {
    if (got == OK && row.code == code) {
      return {.kind = ScreenInput::Kind::kKey, .key = {.kind = row.kind, .text = {}}};
    }
  }
  const bool character = got == OK && code >= 0x20;
  return {.kind = character ? ScreenInput::Kind::kKey : ScreenInput::Kind::kRedraw,
          .key = {.kind = TopKey::Kind::kText, .text = character ? Utf8(code) : std::string()}};
}

void TopScreen::AwaitKey(Nanos timeout) {
  pollfd keyboard{impl_->keyboard_fd(), POLLIN, 0};
  ::poll(&keyboard, 1, static_cast<int>(timeout.value / 1'000'000));
}

}  // namespace ptrace_prof
