// Prints src/unicode_tables.rs of this crate: the categories of code points as Go's tables have them.
package main

import (
	"fmt"
	"unicode"
)

func table(name, doc string, has func(rune) bool) {
	var ranges [][2]rune
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if last := len(ranges) - 1; !has(r) {
			continue
		} else if last >= 0 && ranges[last][1] == r-1 {
			ranges[last][1] = r
		} else {
			ranges = append(ranges, [2]rune{r, r})
		}
	}
	fmt.Printf("\n/// %s\n#[rustfmt::skip]\npub(crate) const %s: [(u32, u32); %d] = [\n", doc, name, len(ranges))
	line := "   "
	for _, r := range ranges {
		pair := fmt.Sprintf(" (%#x, %#x),", r[0], r[1])
		if len(line)+len(pair) > 118 {
			fmt.Println(line)
			line = "   "
		}
		line += pair
	}
	fmt.Printf("%s\n];\n", line)
}

func main() {
	fmt.Printf("//! Ranges of code points from U+0080 on, as Unicode %s has them: Go 1.26 has its tables, Rust's are newer.\n", unicode.Version)
	fmt.Println("//! `go run .` in `tests/go` prints this file.")
	table("PRINTABLE", "Letters, marks, numbers, punctuation and symbols: what `%q` and `js` leave as they are.", unicode.IsPrint)
	table("LETTERS", "Letters (category L).", unicode.IsLetter)
	table("DIGITS", "Decimal digits (category Nd).", unicode.IsDigit)
	table("MARKS_AND_NUMBERS", "Marks and numbers (categories M and N).", func(r rune) bool {
		return unicode.IsMark(r) || unicode.IsNumber(r)
	})
}
