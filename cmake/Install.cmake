# bin/athanor with lib/athanor/ beside it, found through $ORIGIN: carried to a bare machine, it runs.
include(GNUInstallDirs)
set_target_properties(athanor PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/athanor")
install(TARGETS athanor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES "${ATHANOR_DEPS}/openblas/scipy_openblas32/lib/libscipy_openblas.so" DESTINATION lib/athanor)
file(GLOB webgpu_libraries CONFIGURE_DEPENDS "${ATHANOR_DEPS}/webgpu/lib/*.so")
install(FILES ${webgpu_libraries} DESTINATION lib/athanor)
install(DIRECTORY "${ATHANOR_DEPS}/licenses" DESTINATION share/athanor OPTIONAL)
install(FILES LICENSE DESTINATION share/athanor OPTIONAL)
