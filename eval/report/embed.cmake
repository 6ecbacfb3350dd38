# Writes OUTPUT, the definitions of eval/report/asset.h, from the files CHART_JS, REPORT_CSS and
# REPORT_JS.
set(text "#include \"eval/report/asset.h\"\n\nnamespace hone {\nnamespace {\n\n")
set(functions "")
foreach(name CHART_JS REPORT_CSS REPORT_JS)
  string(TOLOWER "${name}" lower)
  file(READ "${${name}}" bytes HEX)
  string(LENGTH "${bytes}" length)
  math(EXPR length "${length} / 2")
  if(length EQUAL 0)
    message(FATAL_ERROR "${${name}} is empty")
  endif()
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "constexpr unsigned char k_${lower}[] = {\n${bytes}};\n\n")
  string(APPEND functions
    "std::string_view ${lower}() {\n  return {reinterpret_cast<const char*>(k_${lower}), ${length}};\n}\n\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}}  // namespace\n\n${functions}}  // namespace hone\n")
