/* SPDX-License-Identifier: Apache-2.0 */
/* PTX with instructions of sm_90a in comments (backends/opencl/ptx.h): what is made of a text. No device is needed. */
#include <string.h>

#include "backends/opencl/ptx.h"
#include "common/base/error.h"
#include "tests/support/main.h"

TEST_CASE("edited")

/* Appends what is made of the text; false: nothing. */
static bool edit(const char *ptx, size_t bytes, lfuse__strbuf *out)
{
    bool edited = true;
    ck_assert_msg(lfuse__cl_edit_ptx(ptx, bytes, out, &edited) == LFUSE_OK, "%s", lfuse__error_message());
    return edited;
}

static void becomes(const char *ptx, const char *expected)
{
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    ck_assert(edit(ptx, strlen(ptx), &out));
    ck_assert_uint_eq(out.length, strlen(expected));
    ck_assert_str_eq(out.data, expected);
    lfuse__strbuf_free(&out);
}

static void stays(const char *ptx)
{
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    ck_assert(!edit(ptx, strlen(ptx), &out));
    ck_assert_uint_eq(out.length, 0);
    lfuse__strbuf_free(&out);
}

/* Comments become instructions, wherever they stand in a line, and other comments stay. */
TEST(instructions)
{
    becomes(".version 9.0\n.target sm_90, texmode_independent\n.entry k()\n{\n\t// begin inline asm\n"
            "\t//sm_90a: wgmma.wait_group.sync.aligned 0;\n{ .reg .pred p;\n//sm_90a: two %f1, %f2;\n}\n"
            "\t// end inline asm\n\tret; //sm_90a: not at its begin\n}\n",
            ".version 9.0\n.target sm_90a, texmode_independent\n.entry k()\n{\n\t// begin inline asm\n"
            "wgmma.wait_group.sync.aligned 0;\n{ .reg .pred p;\ntwo %f1, %f2;\n}\n"
            "\t// end inline asm\n\tret; //sm_90a: not at its begin\n}\n");
}

/* What is no line of its own, or has no newline behind it. */
TEST(ends)
{
    becomes(".target sm_90\n//sm_90a: x", ".target sm_90a\nx");
    becomes("//sm_90a: x;\n.target sm_90", "x;\n.target sm_90a");
    becomes("\n\n.target sm_90,a\n//sm_90a: \n", "\n\n.target sm_90a,a\n\n");
}

/* A directive goes to its own kernel, behind the size of groups; a kernel may have none. */
TEST(directives)
{
    becomes(".target sm_90, a\n.entry k(\n)\n.reqntid 256, 1, 1\n{\n}\n.entry l()\n.reqntid 288, 1, 1\n{\n"
            "\t//entry: .minnctapersm 2\n\tx;\n}\n.entry m()\n.reqntid 32, 1, 1\n{\n//entry: .minnctapersm 1\n}\n",
            ".target sm_90a, a\n.entry k(\n)\n.reqntid 256, 1, 1\n{\n}\n.entry l()\n.reqntid 288, 1, 1\n"
            ".minnctapersm 2\n{\n\tx;\n}\n.entry m()\n.reqntid 32, 1, 1\n.minnctapersm 1\n{\n}\n");
}

/* Instructions name the last parameter of their own kernel, as often as they like; a kernel may have none. */
TEST(words)
{
    becomes(".target sm_90\n.entry k(\n\t.param .u64 .ptr .global .align 1 k_param_0,\n"
            "\t.param .align 64 .b8 k_param_1[56]\n)\n{\n\tld.param.u64 %rd1, [k_param_0];\n"
            "\t.param .b32 of_a_call;\n//sm_90a: mov.b64 %rd1, @words;\n}\n"
            ".entry l(\n\t.param .b32 one,\n\t.param .b64 two_$\n)\n{\n//sm_90a: @words+8, @words\n\t@words;\n}\n",
            ".target sm_90a\n.entry k(\n\t.param .u64 .ptr .global .align 1 k_param_0,\n"
            "\t.param .align 64 .b8 k_param_1[56]\n)\n{\n\tld.param.u64 %rd1, [k_param_0];\n"
            "\t.param .b32 of_a_call;\nmov.b64 %rd1, k_param_1;\n}\n"
            ".entry l(\n\t.param .b32 one,\n\t.param .b64 two_$\n)\n{\ntwo_$+8, two_$\n\t@words;\n}\n");
    becomes(".target sm_90\n.entry k()\n{\n//sm_90a: x @words;\n}\n", ".target sm_90a\n.entry k()\n{\nx @words;\n}\n");
}

/* Programs without such comments are the driver's, whatever their target. */
TEST(absent)
{
    stays("");
    stays(".version 9.0\n.target sm_90, texmode_independent\n.entry k()\n.reqntid 32, 1, 1\n{\n\tret;\n}\n");
    stays(".target sm_80\n// sm_90a: x\n//sm_90: x\n//sm_90a:x\n//entry\n");
}

/* Bytes behind a zero are none of the text. */
TEST(zero)
{
    static const char ptx[] = ".target sm_90\n//sm_90a: x\n\0//sm_90a: y\n";
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    ck_assert(edit(ptx, sizeof ptx, &out));
    ck_assert_str_eq(out.data, ".target sm_90a\nx\n");
    lfuse__strbuf_free(&out);
    ck_assert(!edit("\0//sm_90a: y\n", 12, &out));
}

TEST(other_targets)
{
    static const char *const targets[] = {".target sm_80, a\n", ".target sm_90a, a\n", ".target sm_900\n", ""};
    for (int i = 0; i < 4; i++) {
        lfuse__strbuf ptx = LFUSE__STRBUF_INIT, out = LFUSE__STRBUF_INIT;
        bool edited = false;
        lfuse__strbuf_format(&ptx, "%s//sm_90a: x\n", targets[i]);
        ck_assert_int_eq(lfuse__cl_edit_ptx(ptx.data, ptx.length, &out, &edited), LFUSE_ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(lfuse__error_message(), "sm_90"));
        ck_assert(!edited);
        lfuse__strbuf_free(&out);
        lfuse__strbuf_free(&ptx);
    }
}

/* The program that devices are tried with names the target that edited ones have, in the mode of OpenCL. */
TEST(probe)
{
    ck_assert_ptr_nonnull(strstr(lfuse__cl_ptx_probe, "\n.target sm_90a, texmode_independent\n"));
    ck_assert_ptr_nonnull(strstr(lfuse__cl_ptx_probe, "wgmma"));
    stays(lfuse__cl_ptx_probe);
}

TEST_SUITE("PTX of NVIDIA's OpenCL", CK_FORK_GETENV)
