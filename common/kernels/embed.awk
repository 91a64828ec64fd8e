# SPDX-License-Identifier: Apache-2.0
# Turns a text file name.k into a C header with the string lfuse__text_name: one literal for each line, so that the
# compiler's limit on the length of one literal is not met and the header stays readable. A line #include "FILE" is
# replaced by the lines of FILE, a path below -v top=FOLDER.
FNR == 1 {
    name = FILENAME
    sub(/^.*\//, "", name)
    sub(/\.k$/, "", name)
    gsub(/[^A-Za-z0-9]/, "_", name)
    print "/* Made by common/kernels/embed.awk from " name ".k. */"
    print "static const char lfuse__text_" name "[] ="
}
function put(line)
{
    gsub(/\\/, "&&", line)
    gsub(/"/, "\\\"", line)
    gsub(/\t/, "\\t", line)
    print "    \"" line "\\n\""
}
/^#include "/ {
    split($0, words, "\"")
    file = top "/" words[2]
    while ((got = (getline line <file)) > 0) put(line)
    if (got < 0) exit 1
    close(file)
    next
}
{ put($0) }
END { print "    \"\";" }
