# SPDX-License-Identifier: Apache-2.0
# Tests print TAP. Programs are tests/<area>/check_<file>.c; each area lists its own in its local.mk:
#
#     check_PROGRAMS += %reldir%/check_error
#     TESTS += %reldir%/check_error
#     tests_base_check_error_SOURCES = %reldir%/check_error.c
#
# They are linked with tests/support, the library's objects and Check unless they name other libraries (_LDADD).

# check-host runs the programs that need no driver of this machine, or find none, and check-threads those that start
# threads: for builds with sanitizers, which drivers are not made for. check_host of kernels, check_strassen of matmul
# and check_transports stay out as well: with sanitizers the compiler takes minutes for theirs, and cases and random
# graphs run kernels of all families. So do four programs that look at many results of calls which others make too.
driver_tests = tests/kernels/check_host tests/run/check_foreach tests/optim/check_trajectories tests/run/check_rows \
	tests/optim/check_training \
	tests/backends/check_opencl% tests/backends/check_foreign_% \
	tests/backends/check_launches_% tests/backends/check_unfit_% tests/backends/check_other_% \
	tests/cases/check_large tests/kernels/check_nvrtc tests/kernels/check_devices \
	tests/matmul/check_strassen tests/run/check_transports
thread_tests = tests/run/check_threads

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)

# Nothing of the user's is read or written: caches lie in the build tree, layers and device choices are off.
AM_TESTS_ENVIRONMENT = \
	unset OPENCL_LAYERS OPENCL_LAYER_PATH LFUSE_DEVICE LFUSE_LOG LFUSE_CACHE LFUSE_DUMP LFUSE_FUSE LFUSE_EFFORT \
	    LFUSE_PROVIDER LFUSE_STRASSEN LFUSE_SYNC LFUSE_ADDRESSES LFUSE_OVERLAP; \
	LFUSE_WISDOM=0; export LFUSE_WISDOM; \
	LC_ALL=C; export LC_ALL; \
	XDG_CACHE_HOME='$(abs_builddir)/tests/cache'; export XDG_CACHE_HOME; \
	LFUSE_CACHE_DIR='$(abs_builddir)/tests/cache/libfuse'; export LFUSE_CACHE_DIR; \
	POCL_CACHE_DIR='$(abs_builddir)/tests/cache/pocl'; export POCL_CACHE_DIR; \
	$(MKDIR_P) -m 700 "$$XDG_CACHE_HOME" "$$LFUSE_CACHE_DIR" "$$POCL_CACHE_DIR"; \
	CK_DEFAULT_TIMEOUT=$${CK_DEFAULT_TIMEOUT:-120}; export CK_DEFAULT_TIMEOUT; TEST_HARNESS=1; export TEST_HARNESS; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; CXX17='$(CXX17)'; export CXX17; \
	CFLAGS="$${LFUSE_TEST_ALL+$(SANITIZER_FLAGS)}"; : $${CFLAGS:='$(KERNEL_SANITIZER_FLAGS)'}; export CFLAGS; \
	PKG_CONFIG='$(PKG_CONFIG)'; export PKG_CONFIG; NM='$(NM)'; export NM; MANDOC='$(MANDOC)'; export MANDOC;

# What tests have a loader open. Linked by the compiler itself, as libtool makes nothing that is shared under
# --disable-shared: a program to automake, with TEST_MODULE_CFLAGS as its _CFLAGS and $(TEST_MODULE_LINK) as its _LINK.
TEST_MODULE_CFLAGS = $(AM_CFLAGS) -fPIC
TEST_MODULE_LINK = $(CC) $(TEST_MODULE_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -shared -o $@

# Areas whose programs take long come first: two cores are then busy to the end.
include tests/support/local.mk
include tests/stub/local.mk
include tests/tape/local.mk
include tests/random/local.mk
include tests/cases/local.mk
include tests/kernels/local.mk
include tests/matmul/local.mk
include tests/bench/local.mk
include tests/faults/local.mk
include tests/optim/local.mk
include tests/run/local.mk
include tests/layer/local.mk
include tests/fake-cuda/local.mk
include tests/backends/local.mk
include tests/tune/local.mk
include tests/graph/local.mk
include tests/oracle/local.mk
include tests/plan/local.mk
include tests/device/local.mk
include tests/base/local.mk
include tests/api/local.mk
include tests/tree/local.mk

# Without Check no test is built or run, and that is no success.
check_targets = check-am
.PHONY: check-is-missing
if !HAVE_CHECK
$(check_targets): check-is-missing
check-is-missing:
	@echo "make check needs the library Check (Debian package: check), which configure did not find" >&2; exit 1
endif

.PHONY: check-host check-threads
# What programs of tests are compiled with by check-host: their own code takes longer to optimise than to run.
TEST_PROGRAM_CFLAGS = $(CFLAGS)
without_drivers = OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES= CUDA_VISIBLE_DEVICES=
check-host:
	@$(MAKE) $(AM_MAKEFLAGS) $(BUILT_SOURCES)
	@$(MAKE) $(AM_MAKEFLAGS) libfuse_core.la bench/liboracle.la tests/stub/libstub.la
	@$(without_drivers) $(MAKE) $(AM_MAKEFLAGS) CFLAGS='$(TEST_PROGRAM_CFLAGS) $(SANITIZER_FLAGS)' \
	    check-TESTS check_PROGRAMS= \
	    TESTS='$(filter-out $(driver_tests),$(filter $(check_PROGRAMS),$(TESTS)))'
check-threads:
	@$(MAKE) $(AM_MAKEFLAGS) $(BUILT_SOURCES)
	@$(without_drivers) $(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS= TESTS='$(thread_tests)'

# A short run on the first CUDA device under compute-sanitizer; skipped where one of the two is missing.
.PHONY: check-memcheck
check-memcheck: all
	@$(MAKE) $(AM_MAKEFLAGS) tests/cases/check_cases
	@$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS= TESTS=tests/memcheck.sh
EXTRA_DIST += tests/memcheck.sh

# Whether the tests notice mutants of the sources: tests/mutants/run says how, its list which.
.PHONY: check-mutants
check-mutants: all
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/tests/mutants/run $(MUTANTS)
EXTRA_DIST += tests/mutants

clean-local: clean-test-cache
.PHONY: clean-test-cache
clean-test-cache:
	-rm -rf tests/cache tests/mutants.work
