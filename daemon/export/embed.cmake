# cmake -DOUT=file.cc -DNAME=kSymbol -DFILES=a;b -P embed.cmake: concatenates files to one C++ string.
set(bytes "")
foreach(file ${FILES})
  file(READ ${file} hex HEX)
  string(APPEND bytes "${hex}0a")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT}.tmp "#include \"daemon/export/viewer_assets.h\"
namespace ptrace_prof {
namespace {
constexpr unsigned char ${NAME}Bytes[] = {${bytes}};
}
const std::string_view ${NAME}(reinterpret_cast<const char*>(${NAME}Bytes), sizeof(${NAME}Bytes));
}
")
file(RENAME ${OUT}.tmp ${OUT})
