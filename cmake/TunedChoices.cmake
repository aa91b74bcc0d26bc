# Embeds src/train/tuned/*.json, the tables of choices that are shipped: `athanor tune -o src/train/tuned/ADAPTER.json` writes one.
function(athanor_embed_choices target)
  file(GLOB tables CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/train/tuned/*.json")
  set(entries "")
  foreach(table ${tables})
    get_filename_component(name "${table}" NAME)
    file(READ "${table}" text)
    # Pieces, since compilers bound the length of one literal.
    string(LENGTH "${text}" length)
    set(literals "")
    set(begin 0)
    while(begin LESS length)
      string(SUBSTRING "${text}" ${begin} 8000 piece)
      string(APPEND literals "R\"json(${piece})json\"\n")
      math(EXPR begin "${begin} + 8000")
    endwhile()
    string(APPEND entries "      {\"${name}\",\n${literals}},\n")
    set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${table}")
  endforeach()
  set(out "${CMAKE_BINARY_DIR}/generated/train/shipped_choices.cpp")
  file(CONFIGURE OUTPUT "${out}" @ONLY CONTENT
"// Generated from src/train/tuned/.
#include \"train/choice_files.h\"

namespace athanor::train {

std::vector<ShippedChoices> shipped_choices() {
  return {
${entries}  };
}

}  // namespace athanor::train
")
  target_sources(${target} PRIVATE "${out}")
endfunction()
