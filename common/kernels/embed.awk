# SPDX-License-Identifier: Apache-2.0
# Turns a text file name.k into a C header with the string lfuse__text_name: one literal for each line, so that the
# compiler's limit on the length of one literal is not met and the header stays readable.
FNR == 1 {
    name = FILENAME
    sub(/^.*\//, "", name)
    sub(/\.k$/, "", name)
    gsub(/[^A-Za-z0-9]/, "_", name)
    print "/* Made by common/kernels/embed.awk from " name ".k. */"
    print "static const char lfuse__text_" name "[] ="
}
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\"")
    gsub(/\t/, "\\t")
    print "    \"" $0 "\\n\""
}
END { print "    \"\";" }
