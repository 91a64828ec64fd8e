# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/plan/check_body tests/plan/check_plan tests/plan/check_views tests/plan/check_lower \
	tests/plan/check_rows tests/plan/check_phases tests/plan/check_bundles tests/plan/check_time \
	tests/plan/check_layout tests/plan/check_reuse tests/plan/check_sink tests/plan/check_members \
	tests/plan/check_counts tests/plan/check_strassen tests/plan/check_products tests/plan/check_prologue
TESTS += tests/plan/check_body tests/plan/check_plan tests/plan/check_views tests/plan/check_lower \
	tests/plan/check_rows tests/plan/check_phases tests/plan/check_bundles tests/plan/check_time \
	tests/plan/check_layout tests/plan/check_reuse tests/plan/check_sink tests/plan/check_members \
	tests/plan/check_counts tests/plan/check_strassen tests/plan/check_products tests/plan/check_prologue
tests_plan_check_body_SOURCES = %reldir%/check_body.c
tests_plan_check_plan_SOURCES = %reldir%/check_plan.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_layout_SOURCES = %reldir%/check_layout.c
tests_plan_check_rows_SOURCES = %reldir%/check_rows.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_views_SOURCES = %reldir%/check_views.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_lower_SOURCES = %reldir%/check_lower.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_bundles_SOURCES = %reldir%/check_bundles.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_time_SOURCES = %reldir%/check_time.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_reuse_SOURCES = %reldir%/check_reuse.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_sink_SOURCES = %reldir%/check_sink.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_phases_SOURCES = %reldir%/check_phases.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_members_SOURCES = %reldir%/check_members.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_strassen_SOURCES = %reldir%/check_strassen.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_products_SOURCES = %reldir%/check_products.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_prologue_SOURCES = %reldir%/check_prologue.c %reldir%/rig.c %reldir%/rig.h
tests_plan_check_counts_SOURCES = %reldir%/check_counts.c %reldir%/rig.c %reldir%/rig.h

check_PROGRAMS += tests/plan/check_network
TESTS += tests/plan/check_network
tests_plan_check_network_SOURCES = %reldir%/check_network.c %reldir%/rig.c %reldir%/rig.h

check_PROGRAMS += tests/plan/check_product_sums
TESTS += tests/plan/check_product_sums
tests_plan_check_product_sums_SOURCES = %reldir%/check_product_sums.c %reldir%/rig.c %reldir%/rig.h

check_PROGRAMS += tests/plan/check_early_updates
TESTS += tests/plan/check_early_updates
tests_plan_check_early_updates_SOURCES = %reldir%/check_early_updates.c %reldir%/rig.c %reldir%/rig.h
check_PROGRAMS += tests/plan/check_together
TESTS += tests/plan/check_together
tests_plan_check_together_SOURCES = %reldir%/check_together.c %reldir%/rig.c %reldir%/rig.h
