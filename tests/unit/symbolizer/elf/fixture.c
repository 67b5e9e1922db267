// A small library with the symbols and sections that the tests of symbolizer/elf expect.
__attribute__((section(".PyRuntime"))) char pp_fixture_runtime[640] = "xdebugpy";
int pp_fixture_data[6] = {1, 2, 3};
_Thread_local int pp_fixture_thread_local;

static __attribute__((noinline, used)) int pp_fixture_static_function(int x) {
  return x * 3;
}

int pp_fixture_function(int x) {
  pp_fixture_thread_local = x;
  return pp_fixture_static_function(x) + pp_fixture_data[0];
}
