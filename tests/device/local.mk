# SPDX-License-Identifier: Apache-2.0
waist_tests = tests/device/check_cache tests/device/check_memory tests/device/check_program
check_PROGRAMS += $(waist_tests)
TESTS += $(waist_tests)
tests_device_check_cache_SOURCES = %reldir%/check_cache.c
tests_device_check_memory_SOURCES = %reldir%/check_memory.c %reldir%/rig.h
tests_device_check_memory_LDADD = tests/stub/libstub.la $(LDADD)
tests_device_check_program_SOURCES = %reldir%/check_program.c
tests_device_check_program_LDADD = tests/stub/libstub.la $(LDADD)
thread_tests += tests/device/check_program

check_PROGRAMS += tests/device/check_stub
TESTS += tests/device/check_stub
tests_device_check_stub_SOURCES = %reldir%/check_stub.c %reldir%/rig.h
tests_device_check_stub_LDADD = tests/stub/libstub.la $(LDADD)

check_PROGRAMS += tests/device/check_bounds
TESTS += tests/device/check_bounds
tests_device_check_bounds_SOURCES = %reldir%/check_bounds.c %reldir%/rig.h
tests_device_check_bounds_LDADD = tests/stub/libstub.la $(LDADD)

check_PROGRAMS += tests/device/check_event
TESTS += tests/device/check_event
tests_device_check_event_SOURCES = %reldir%/check_event.c %reldir%/rig.h
tests_device_check_event_LDADD = tests/stub/libstub.la $(LDADD)

check_PROGRAMS += tests/device/check_report
TESTS += tests/device/check_report
tests_device_check_report_SOURCES = %reldir%/check_report.c %reldir%/rig.h
tests_device_check_report_LDADD = tests/stub/libstub.la $(LDADD)

check_PROGRAMS += tests/device/check_native
TESTS += tests/device/check_native
tests_device_check_native_SOURCES = %reldir%/check_native.c %reldir%/rig.h
tests_device_check_native_LDADD = tests/stub/libstub.la $(LDADD)

check_PROGRAMS += tests/device/check_registry
TESTS += tests/device/check_registry
tests_device_check_registry_SOURCES = %reldir%/check_registry.c
tests_device_check_registry_LDADD = tests/stub/libstub.la $(LDADD)
