//! Language level 1: every function, filter and test that an expression may use. Nothing here reads a clock, a random
//! source, the environment, the network or a file; what is listed is never changed, a new level is added instead.
//!
//! - functions: `range(n)`, `range(from, to, step)`
//! - filters on text: `b64encode indent(width, first) join(separator) lines lower replace(from, to) sha256
//!   split(separator) string tojson toyaml trim(characters) upper`
//! - filters on numbers: `abs float int round`
//! - filters on lists and maps: `dictsort first items last length list map max min reject rejectattr reverse select
//!   selectattr sort sum unique`
//! - filters on anything: `bool default(value)` (null and undefined take the default)
//! - tests: `boolean defined divisibleby endingwith eq even false float ge gt in integer iterable le lt mapping ne none
//!   number odd sequence startingwith string true undefined`
//! - operators: those of minijinja: `+ - * / // % ** ~ == != < <= > >= in and or not`, `a if b else c`, `x[0]`, `x[1:]`
//!
//! Bound in a loop, beside its names: `loop` with `index index0 first last length`. Maps are walked in the order of
//! their keys. Text prints booleans as `true` and `false` and floats as the emitter does; null, maps and lists have no
//! text. A `set` binds its name for the entries that follow in its collection and block, and for all below those.

use std::sync::LazyLock;

use minijinja::{Environment, UndefinedBehavior, filters as builtin, functions, tests};

use super::{filters, lex::TEXT_FILTER, limits::FUEL};

/// The newest language level; this program knows every level from 1 to this.
pub const LANGUAGE: u32 = 1;

/// The functions of the language.
pub(super) const FUNCTIONS: [&str; 1] = ["range"];

/// What expressions of a language level are compiled against; none for a level that this program does not know.
pub(super) fn environment(level: u32) -> Option<&'static Environment<'static>> {
    static FIRST: LazyLock<Environment<'static>> = LazyLock::new(first);
    (level == 1).then(|| &*FIRST)
}

fn first() -> Environment<'static> {
    let mut language = Environment::empty();
    language.set_undefined_behavior(UndefinedBehavior::Strict);
    language.set_fuel(Some(FUEL));
    language.set_recursion_limit(50);
    language.set_debug(true);
    language.add_function("range", functions::range);
    language.add_filter(TEXT_FILTER, filters::string);
    add_filters(&mut language);
    add_tests(&mut language);
    language
}

/// A table of names and what they are, and the function that adds them to a language.
macro_rules! table {
    ($names:ident, $add:ident, $method:ident: $($name:literal $what:path,)*) => {
        pub(super) const $names: &[&str] = &[$($name),*];

        fn $add(language: &mut Environment<'static>) {
            $(language.$method($name, $what);)*
        }
    };
}

table! { FILTERS, add_filters, add_filter:
    "abs" builtin::abs,
    "b64encode" filters::b64encode,
    "bool" builtin::bool,
    "default" filters::default,
    "dictsort" builtin::dictsort,
    "first" builtin::first,
    "float" builtin::float,
    "indent" filters::indent,
    "int" builtin::int,
    "items" builtin::items,
    "join" filters::join,
    "last" builtin::last,
    "length" builtin::length,
    "lines" filters::lines,
    "list" builtin::list,
    "lower" filters::lower,
    "map" builtin::map,
    "max" builtin::max,
    "min" builtin::min,
    "reject" builtin::reject,
    "rejectattr" builtin::rejectattr,
    "replace" filters::replace,
    "reverse" builtin::reverse,
    "round" builtin::round,
    "select" builtin::select,
    "selectattr" builtin::selectattr,
    "sha256" filters::sha256,
    "sort" builtin::sort,
    "split" filters::split,
    "string" filters::string,
    "sum" builtin::sum,
    "tojson" filters::tojson,
    "toyaml" filters::toyaml,
    "trim" filters::trim,
    "unique" builtin::unique,
    "upper" filters::upper,
}

table! { TESTS, add_tests, add_test:
    "boolean" tests::is_boolean,
    "defined" tests::is_defined,
    "divisibleby" tests::is_divisibleby,
    "endingwith" tests::is_endingwith,
    "eq" tests::is_eq,
    "even" tests::is_even,
    "false" tests::is_false,
    "float" tests::is_float,
    "ge" tests::is_ge,
    "gt" tests::is_gt,
    "in" tests::is_in,
    "integer" tests::is_integer,
    "iterable" tests::is_iterable,
    "le" tests::is_le,
    "lt" tests::is_lt,
    "mapping" tests::is_mapping,
    "ne" tests::is_ne,
    "none" tests::is_none,
    "number" tests::is_number,
    "odd" tests::is_odd,
    "sequence" tests::is_sequence,
    "startingwith" tests::is_startingwith,
    "string" tests::is_string,
    "true" tests::is_true,
    "undefined" tests::is_undefined,
}
