# The project rules that a program can check: layers (against ARCHITECTURE.md), sizes, reasons of errors, versions of
# CPython, plain words. Also tests that the checks find faults, and the check of the benchmark page.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(check check_layers check_sizes check_reasons check_versions check_words test_lint test_bench_page)
  add_test(NAME lint.${check} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/lint/${check}.py)
  set_tests_properties(lint.${check} PROPERTIES LABELS lint TIMEOUT 120)
endforeach()
