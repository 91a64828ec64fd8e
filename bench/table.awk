# SPDX-License-Identifier: Apache-2.0
# JSON lines of lfuse-bench --quick as the short table of ./bootstrap demo, of bounded length for any number of devices.
#
# Of one device: of each kind of problem the first two, every variant. Of several: problems as rows and devices as
# columns, the first problem of each kind, the library's own way and how many times as long the plain way takes. All
# that is wrong is shown in either.

function field(key) {
    if (!match($0, "\"" key "\":\"?[^\",}]*")) return ""
    value = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
    sub(/^"/, "", value)
    return value
}

# The first of the words that is a variant of the problem on any device; "" for none.
function variant_of(problem, words,    word, i, n, d) {
    n = split(words, word, " ")
    for (i = 1; i <= n; i++)
        for (d = 1; d <= devices; d++)
            if ((problem, device[d], word[i]) in us) return word[i]
    return ""
}

function kind(problem) { return substr(problem, 1, index(problem, ":")) }

function is_right(problem, d) { return !((problem, d) in wrong) }

function time(us) { return us == "null" ? "-" : sprintf("%.1f", us) }

function one_device(    p, v, seen, row) {
    printf "%-12s %-26s  %s\n", "device", "problem", "us for one run of each variant"
    for (p = 1; p <= problems; p++) {
        if (is_right(problem[p], device[1]) && seen[kind(problem[p])]++ >= 2) continue
        row = ""
        for (v = 1; v <= variants[problem[p]]; v++)
            row = row "  " variant[problem[p], v] " " time(us[problem[p], device[1], variant[problem[p], v]])
        printf "%-12s %-26s%s  %s\n", device[1], problem[p], row, is_right(problem[p], device[1]) ? "verified" : "WRONG"
    }
}

function cell(p, d, ours, plain) {
    if (!is_right(p, d)) return "WRONG"
    if (!((p, d, ours) in us)) return "-"
    if (!((p, d, plain) in us)) return sprintf("%.1f", us[p, d, ours])
    return sprintf("%.1f %5.2fx", us[p, d, ours], us[p, d, plain] / us[p, d, ours])
}

function any_wrong(p,    d) {
    for (d = 1; d <= devices; d++) if (!is_right(p, device[d])) return 1
    return 0
}

function columns_of(p,    d, ours, plain) {
    ours = variant_of(p, OURS)
    plain = variant_of(p, PLAIN)
    printf "%-22s %-29s", p, ours (plain == "" ? "" : " and x of " plain)
    for (d = 1; d <= columns; d++) printf " %16s", cell(p, device[d], ours, plain)
    print ""
}

# Devices beyond the last column, those with something wrong by their names.
function rest(    d, p, bad) {
    for (d = columns + 1; d <= devices; d++) {
        bad = ""
        for (p = 1; p <= problems; p++) if (!is_right(problem[p], device[d])) bad = bad " " problem[p]
        if (bad != "") print device[d] " WRONG:" bad
    }
    if (devices > columns) printf "and %d more devices, by lfuse-bench --quick\n", devices - columns
}

function many_devices(    p, d, seen) {
    columns = devices < MOST_COLUMNS ? devices : MOST_COLUMNS
    printf "%-22s %-29s", "us for one run", ""
    for (d = 1; d <= columns; d++) printf " %16s", device[d]
    print ""
    for (p = 1; p <= problems; p++)
        if (!seen[kind(problem[p])]++ || any_wrong(problem[p])) columns_of(problem[p])
    rest()
    printf "%d results on %d devices, %d wrong\n", results, devices, wrongs
}

BEGIN {
    MOST_COLUMNS = 4
    OURS = "fused plan split-fused foreach libfuse args"
    PLAIN = "unfused vendor split-unfused loop bare api-copy"
}
field("type") != "result" { next }
{
    p = field("case")
    d = field("device")
    v = field("variant")
    if (!known_device[d]++) device[++devices] = d
    if (!known_problem[p]++) problem[++problems] = p
    if (!known_variant[p, v]++) variant[p, ++variants[p]] = v
    us[p, d, v] = field("wall_us")
    results++
    if (field("ok") != "true") {
        wrong[p, d] = 1
        wrongs++
    }
}
END {
    if (devices == 1) one_device()
    else if (devices) many_devices()
}
