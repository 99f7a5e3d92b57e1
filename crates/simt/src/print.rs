//! Output of `printf` in a kernel: C's formats over the bytes that a lane packed, and all output of a launch in one
//! order.
//!
//! The order is that of blocks in the grid; inside a block that of execution; inside one call that of lanes. It does not
//! depend on host threads. A GPU keeps a ring of 1 MiB by default and loses the oldest output when it overflows; here the
//! first [`PRINTED_BYTES_MAX`] are kept and the calls behind are counted.

/// Output kept of a launch in bytes.
pub(crate) const PRINTED_BYTES_MAX: usize = 1 << 20;
/// Widths and precisions above this are cut: no output is larger than all output may be.
const WIDTH_MAX: usize = 1 << 12;

/// Output of a launch, call by call.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// Linear index of the block, and what one call printed.
    calls: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    dropped: u64,
}

impl Printed {
    /// Adds what one call printed. Blocks come in any order.
    pub(crate) fn push(&mut self, block: u64, text: Vec<u8>) {
        self.bytes = self.bytes.saturating_add(text.len());
        self.calls.push((block, text));
        if self.bytes > 2 * PRINTED_BYTES_MAX {
            let fit = self.sort();
            // The first call that does not fit is cut one byte behind the limit, so that nothing behind it fits, whatever its size.
            self.dropped += self.calls.len().saturating_sub(fit + 1) as u64;
            self.calls.truncate(fit + 1);
            let shown: usize = self.calls[..fit].iter().map(|(_, text)| text.len()).sum();
            if let Some((_, text)) = self.calls.get_mut(fit) {
                text.truncate(PRINTED_BYTES_MAX - shown + 1);
            }
            self.bytes = PRINTED_BYTES_MAX + 1;
        }
    }

    /// Brings the calls into the order of blocks; so many of them fit.
    fn sort(&mut self) -> usize {
        // Stable: the calls of one block keep their order.
        self.calls.sort_by_key(|(block, _)| *block);
        let mut bytes = 0usize;
        let fits = |(_, text): &&(u64, Vec<u8>)| {
            bytes = bytes.saturating_add(text.len());
            bytes <= PRINTED_BYTES_MAX
        };
        self.calls.iter().take_while(fits).count()
    }

    /// Adds what other blocks printed.
    pub(crate) fn merge(&mut self, other: Printed) {
        self.calls.extend(other.calls);
        self.dropped += other.dropped;
    }

    /// The text in its order, and how many calls are missing at its end.
    pub(crate) fn into_text(mut self) -> (String, u64) {
        let fit = self.sort();
        let dropped = self.dropped + (self.calls.len() - fit) as u64;
        let all: Vec<u8> = self.calls.drain(..fit).flat_map(|(_, text)| text).collect();
        (String::from_utf8_lossy(&all).into_owned(), dropped)
    }
}

/// Source of a call's values.
pub(crate) trait Values {
    /// The next value, of 4 or 8 bytes; `None` if it cannot be read.
    fn next(&mut self, bytes: u32) -> Option<u64>;
    /// The string at `address`, without its terminating zero, at most `limit` bytes of it.
    fn string(&mut self, address: u64, limit: usize) -> Option<Vec<u8>>;
}

/// A conversion: `%-08.3llx`.
#[derive(Debug, Default, Clone)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer: 1, 2, 4 or 8.
    bytes: u32,
    letter: u8,
}

/// The text of one call, and how many values it took. `None` if a value or a string cannot be read.
pub(crate) fn format(format: &[u8], values: &mut dyn Values) -> Option<(Vec<u8>, i32)> {
    let mut out = Vec::new();
    let mut taken = 0;
    let mut rest = format;
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            out.push(first);
            rest = tail;
            continue;
        }
        let (conversion, tail) = conversion(tail, values, &mut taken)?;
        match conversion {
            Some(Conversion { letter: b'%', .. }) => out.push(b'%'),
            Some(conversion) => {
                taken += 1;
                convert(&conversion, values, &mut out)?;
            }
            // A conversion that C does not define is printed as it stands.
            None => out.extend_from_slice(&rest[..rest.len() - tail.len()]),
        }
        rest = tail;
    }
    Some((out, taken))
}

/// The conversion behind a `%`, if it is one, and what follows it.
fn conversion<'f>(text: &'f [u8], values: &mut dyn Values, taken: &mut i32) -> Option<(Option<Conversion>, &'f [u8])> {
    let mut found = Conversion { bytes: 4, ..Conversion::default() };
    let mut rest = text;
    while let Some((flag @ (b'-' | b'+' | b' ' | b'#' | b'0'), tail)) = rest.split_first() {
        match flag {
            b'-' => found.left = true,
            b'+' => found.plus = true,
            b' ' => found.space = true,
            b'#' => found.alternate = true,
            _ => found.zero = true,
        }
        rest = tail;
    }
    let (width, tail) = size(rest, values, taken)?;
    found.left |= width < 0;
    found.width = (width.unsigned_abs() as usize).min(WIDTH_MAX);
    rest = tail;
    if let Some((b'.', tail)) = rest.split_first() {
        let (precision, tail) = size(tail, values, taken)?;
        found.precision = usize::try_from(precision).ok().map(|precision| precision.min(WIDTH_MAX));
        rest = tail;
    }
    loop {
        match rest.split_first() {
            Some((b'h', tail)) => {
                found.bytes = if found.bytes == 2 { 1 } else { 2 };
                rest = tail;
            }
            Some((b'l' | b'z' | b'j' | b't', tail)) => {
                found.bytes = 8;
                rest = tail;
            }
            Some((&letter, tail)) if b"%cdiouxXpeEfFgGaAs".contains(&letter) => {
                found.letter = letter;
                return Some((Some(found), tail));
            }
            Some((_, tail)) => return Some((None, tail)),
            None => return Some((None, rest)),
        }
    }
}

/// A width or a precision: digits, or `*` for a value.
fn size<'f>(text: &'f [u8], values: &mut dyn Values, taken: &mut i32) -> Option<(i32, &'f [u8])> {
    if let Some((b'*', tail)) = text.split_first() {
        *taken += 1;
        return Some((values.next(4)? as i32, tail));
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number =
        text[..digits].iter().fold(0i32, |n, digit| n.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
    Some((number, &text[digits..]))
}

/// One value as text.
fn convert(conversion: &Conversion, values: &mut dyn Values, out: &mut Vec<u8>) -> Option<()> {
    match conversion.letter {
        b'c' => pad(conversion, "", &[values.next(4)? as u8], false, out),
        b's' => {
            let limit = conversion.precision.unwrap_or(PRINTED_BYTES_MAX);
            let text = match values.next(8)? {
                0 => b"(null)"[..limit.min(6)].to_vec(),
                address => values.string(address, limit)?,
            };
            pad(conversion, "", &text, false, out);
        }
        b'p' => match values.next(8)? {
            0 => pad(conversion, "", b"(nil)", false, out),
            address => pad(conversion, "", format!("{address:#x}").as_bytes(), false, out),
        },
        b'd' | b'i' => {
            let shift = 64 - 8 * conversion.bytes;
            let value = (values.next(conversion.bytes.max(4))? << shift) as i64 >> shift;
            integer(conversion, sign(conversion, value < 0), &value.unsigned_abs().to_string(), value == 0, out);
        }
        b'o' | b'u' | b'x' | b'X' => {
            let value = values.next(conversion.bytes.max(4))? & (u64::MAX >> (64 - 8 * conversion.bytes));
            let (digits, prefix) = match conversion.letter {
                b'u' => (value.to_string(), ""),
                b'o' => (format!("{value:o}"), ""),
                b'x' => (format!("{value:x}"), "0x"),
                _ => (format!("{value:X}"), "0X"),
            };
            let prefix = if conversion.alternate && value != 0 { prefix } else { "" };
            let octal = conversion.letter == b'o' && conversion.alternate && value != 0;
            integer(conversion, prefix, &format!("{}{digits}", if octal { "0" } else { "" }), value == 0, out);
        }
        _ => float(conversion, f64::from_bits(values.next(8)?), out),
    }
    Some(())
}

fn sign(conversion: &Conversion, negative: bool) -> &'static str {
    if negative {
        "-"
    } else if conversion.plus {
        "+"
    } else if conversion.space {
        " "
    } else {
        ""
    }
}

/// An integer's digits, at least as many as the precision asks for.
fn integer(conversion: &Conversion, prefix: &str, digits: &str, is_zero: bool, out: &mut Vec<u8>) {
    match conversion.precision {
        Some(0) if is_zero => pad(conversion, prefix, b"", false, out),
        Some(precision) => pad(conversion, prefix, format!("{digits:0>precision$}").as_bytes(), false, out),
        None => pad(conversion, prefix, digits.as_bytes(), conversion.zero, out),
    }
}

/// A number in one of the ways that C has for doubles.
fn float(conversion: &Conversion, value: f64, out: &mut Vec<u8>) {
    let prefix = sign(conversion, value.is_sign_negative());
    let upper = conversion.letter.is_ascii_uppercase();
    let cased = |text: String| if upper { text.to_ascii_uppercase() } else { text };
    let size = value.abs();
    if !size.is_finite() {
        let name = if size.is_nan() { "nan" } else { "inf" };
        return pad(conversion, prefix, cased(name.to_owned()).as_bytes(), false, out);
    }
    let precision = conversion.precision.unwrap_or(6);
    let text = match conversion.letter.to_ascii_lowercase() {
        b'f' => with_point(conversion, format!("{size:.precision$}")),
        b'e' => exponential(conversion, size, precision),
        b'g' => general(conversion, size, precision.max(1)),
        _ => {
            let prefix = cased(format!("{prefix}0x"));
            return pad(conversion, &prefix, cased(hexadecimal(conversion, size)).as_bytes(), conversion.zero, out);
        }
    };
    pad(conversion, prefix, cased(text).as_bytes(), conversion.zero, out);
}

/// `#` keeps the point where no digit follows it.
fn with_point(conversion: &Conversion, text: String) -> String {
    if conversion.alternate && !text.contains('.') { text + "." } else { text }
}

/// `1.500000e+02`
fn exponential(conversion: &Conversion, size: f64, precision: usize) -> String {
    let (digits, exponent) = decimal(size, precision);
    let digits = with_point(conversion, digits);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}

/// Digits with the point behind the first, rounded to `precision` of them behind the point, and the exponent.
fn decimal(size: f64, precision: usize) -> (String, i32) {
    let text = format!("{size:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

/// `%g`: whichever of the two is shorter, without trailing zeros.
fn general(conversion: &Conversion, size: f64, precision: usize) -> String {
    let (digits, exponent) = decimal(size, precision - 1);
    let trim = |text: &str| match text.contains('.') && !conversion.alternate {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => with_point(conversion, text.to_owned()),
    };
    if exponent < -4 || exponent >= precision as i32 {
        return format!("{}e{}{:02}", trim(&digits), if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs());
    }
    let places = (precision as i32 - 1 - exponent) as usize;
    trim(&format!("{size:.places$}"))
}

/// `%a` without its `0x`: `1.8p+0`.
fn hexadecimal(conversion: &Conversion, size: f64) -> String {
    const FRACTION_BITS: u32 = 52;
    let bits = size.to_bits();
    let (field, mut fraction) = ((bits >> FRACTION_BITS) as i32, bits & ((1 << FRACTION_BITS) - 1));
    let (mut leading, exponent) = match (field, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, field - 1023),
    };
    let mut digits = 13;
    if let Some(precision) = conversion.precision.filter(|&precision| precision < 13) {
        // Round half to even at the last digit kept.
        let dropped = 4 * (13 - precision as u32);
        let whole = leading << FRACTION_BITS | fraction;
        let half = 1u64 << (dropped - 1);
        let odd = whole >> dropped & 1;
        let rounded = (whole + half - 1 + odd) >> dropped << dropped;
        (leading, fraction, digits) = (rounded >> FRACTION_BITS, rounded & ((1 << FRACTION_BITS) - 1), precision);
    }
    let all = format!("{fraction:013x}");
    let kept = match conversion.precision {
        None => all.trim_end_matches('0').to_owned(),
        Some(precision) => format!("{:0<precision$}", &all[..digits]),
    };
    let point = if kept.is_empty() && !conversion.alternate { "" } else { "." };
    format!("{leading}{point}{kept}p{exponent:+}")
}

/// Fills up to the width: with blanks on either side, or with zeros behind the sign.
fn pad(conversion: &Conversion, prefix: &str, text: &[u8], zeros: bool, out: &mut Vec<u8>) {
    let missing = conversion.width.saturating_sub(prefix.len() + text.len());
    let zeros = zeros && !conversion.left;
    if !conversion.left && !zeros {
        out.resize(out.len() + missing, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if zeros {
        out.resize(out.len() + missing, b'0');
    }
    out.extend_from_slice(text);
    if conversion.left {
        out.resize(out.len() + missing, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<u64>);

    impl Values for List {
        fn next(&mut self, _: u32) -> Option<u64> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }

        fn string(&mut self, address: u64, limit: usize) -> Option<Vec<u8>> {
            (address == 1).then(|| b"hello"[..limit.min(5)].to_vec())
        }
    }

    fn printed(text: &str, values: &[u64]) -> String {
        let (bytes, _) = format(text.as_bytes(), &mut List(values.to_vec())).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    // Expected texts are those of glibc's snprintf for the same formats and values.

    #[test]
    fn integers_as_in_c() {
        let minus = (-42i32) as u32 as u64;
        assert_eq!(printed("%d|%5d|%-5d|%05d|%+d|% d", &[minus; 6]), "-42|  -42|-42  |-0042|-42|-42");
        assert_eq!(printed("%+d|% d|%.3d|%6.3d|%.0d|", &[7, 7, 7, 7, 0]), "+7| 7|007|   007||");
        assert_eq!(printed("%u %x %X %o", &[minus; 4]), "4294967254 ffffffd6 FFFFFFD6 37777777726");
        assert_eq!(printed("%#x %#o %#X %#x", &[255, 8, 255, 0]), "0xff 010 0XFF 0");
        assert_eq!(printed("%08x|%#08x", &[255, 255]), "000000ff|0x0000ff");
        assert_eq!(printed("%lld %llu %lx", &[u64::MAX; 3]), "-1 18446744073709551615 ffffffffffffffff");
        assert_eq!(printed("%hd %hhu", &[0x18000, 0x1ff]), "-32768 255");
        assert_eq!(printed("%*d|%-*d|%.*f", &[4, 1, 4, 2, 1, 1.25f64.to_bits()]), "   1|2   |1.2");
    }

    #[test]
    fn floats_as_in_c() {
        let f = |text, value: f64| printed(text, &[value.to_bits()]);
        assert_eq!(f("%f", 1.5), "1.500000");
        assert_eq!(f("%.0f", 2.5), "2");
        assert_eq!(f("%8.2f|", -3.25159), "   -3.25|");
        assert_eq!(f("%08.2f|", -3.25159), "-0003.25|");
        assert_eq!(f("%e", 12345.678), "1.234568e+04");
        assert_eq!(f("%.0e", 0.00015), "1e-04");
        assert_eq!(f("%E", 1e-300), "1.000000E-300");
        assert_eq!(
            [f("%g", 0.0001), f("%g", 0.00001), f("%g", 1e6), f("%g", 100000.0)],
            ["0.0001", "1e-05", "1e+06", "100000"]
        );
        assert_eq!([f("%g", 0.0), f("%g", -0.0), f("%g", 1.5), f("%#g", 1.5)], ["0", "-0", "1.5", "1.50000"]);
        assert_eq!([f("%g", 999999.5), f("%.3g", 1234.0), f("%G", 1e-10)], ["1e+06", "1.23e+03", "1E-10"]);
        assert_eq!([f("%f", f64::INFINITY), f("%5f", f64::NAN), f("%F", f64::NEG_INFINITY)], ["inf", "  nan", "-INF"]);
        assert_eq!(f("%.20f", 0.1), "0.10000000000000000555");
        assert_eq!(
            [f("%a", 1.5), f("%a", 0.0), f("%.1a", 1.99), f("%A", 255.0)],
            ["0x1.8p+0", "0x0p+0", "0x2.0p+0", "0X1.FEP+7"]
        );
    }

    #[test]
    fn hexadecimal_floats_and_flags_as_in_c() {
        let f = |text, value: f64| printed(text, &[value.to_bits()]);
        assert_eq!(
            [f("%.0a", 1.5), f("%a", 5e-324), f("%.3a", 1e-310)],
            ["0x2p+0", "0x0.0000000000001p-1022", "0x0.012p-1022"]
        );
        assert_eq!([f("%010a", 1.5), f("%+.2e", 9.999), f("%#.0f", 3.0)], ["0x001.8p+0", "+1.00e+01", "3."]);
        assert_eq!(printed("%#.3x|%-8x|%+5u|%12p|", &[5, 7, 9, 16]), "0x005|7       |    9|        0x10|");
    }

    #[test]
    fn text_and_pointers_as_in_c() {
        assert_eq!(printed("%s|%8s|%-8s|%.2s|", &[1, 1, 1, 1]), "hello|   hello|hello   |he|");
        assert_eq!(printed("%c%3c|%%|%s", &[65, 66, 0]), "A  B|%|(null)");
        assert_eq!(printed("%p %p", &[0, 0x1234]), "(nil) 0x1234");
        assert_eq!(printed("100%! %", &[]), "100%! %");
    }

    #[test]
    fn values_that_are_missing_or_unreadable_are_marked() {
        assert!(format(b"%d", &mut List(Vec::new())).is_none());
        assert!(format(b"%s", &mut List(vec![2])).is_none());
        assert_eq!(format(b"%d %s", &mut List(vec![3, 1])).unwrap().1, 2);
    }

    #[test]
    fn output_is_in_block_order_and_bounded() {
        let mut all = Printed::default();
        let mut other = Printed::default();
        other.push(1, b"b".to_vec());
        all.push(0, b"a".to_vec());
        all.push(2, b"c".to_vec());
        all.merge(other);
        assert_eq!(all.into_text(), ("abc".to_owned(), 0));
        let mut large = Printed::default();
        large.push(0, vec![b'x'; PRINTED_BYTES_MAX]);
        large.push(1, b"y".to_vec());
        let (text, dropped) = large.into_text();
        assert_eq!((text.len(), dropped), (PRINTED_BYTES_MAX, 1));
        // Blocks in descending order, each with a third of what fits: of 8 the first 3 are shown.
        let mut descending = Printed::default();
        for block in (0..8).rev() {
            descending.push(block, vec![b'0' + block as u8; PRINTED_BYTES_MAX / 3]);
        }
        let (text, dropped) = descending.into_text();
        assert_eq!((text.len(), dropped), (PRINTED_BYTES_MAX / 3 * 3, 5));
        assert!(text.starts_with("00") && text.ends_with("22"));
    }
}
