# SPDX-License-Identifier: Apache-2.0
# Tests of the tree as a whole: what is exported, installed and documented.
tree_tests = %reldir%/headers.sh %reldir%/exports.sh %reldir%/readme.sh %reldir%/man.sh %reldir%/sources.sh \
	%reldir%/calls.sh %reldir%/mutants.sh %reldir%/install.sh
TESTS += $(tree_tests)
EXTRA_DIST += $(tree_tests) %reldir%/pocl.sh %reldir%/tap.sh %reldir%/installed.sh %reldir%/installed.c \
	tests/fresh-machine tests/other-drivers tests/same-output tests/support/record.c tests/support/record_code.c \
	tests/data/fuse-names.txt

installcheck-local:
	@$(AM_TESTS_ENVIRONMENT) \
	$(SHELL) $(top_srcdir)/tests/tree/installed.sh '$(DESTDIR)' '$(prefix)' '$(libdir)' '$(bindir)'
