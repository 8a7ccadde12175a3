//! Language level 1: every function, filter and test that an expression may use. None of them reads a clock, a random
//! source, the environment, the network or a file. What is listed here never changes; additions go into a new level.
//!
//! - functions: `range(n)`, `range(from, to, step)`
//! - filters on text: `b64encode indent(width, first) join(separator) lines lower replace(from, to) sha256 split(separator)
//!   string tojson toyaml trim(characters) upper`
//! - filters on numbers: `abs float int round`
//! - filters on lists and maps: `first items last length list map(filter or attribute=) max min reject(test)
//!   rejectattr(attribute, test) reverse select(test) selectattr(attribute, test) sort(attribute=, reverse=) unique`
//! - filters on anything: `bool default(value)` (null and undefined values become the default)
//! - tests: `boolean defined endingwith eq even false float ge gt in integer iterable le lt mapping ne none number odd
//!   sequence startingwith string true undefined`
//! - operators: those of minijinja: `+ - * / // % ** ~ == != < <= > >= in and or not`, `a if b else c`, `x[0]`, `x[1:]`
//!
//! Besides its own names, a loop binds `loop` with `index index0 first last length`. Maps are iterated in the order of their
//! keys. In text, booleans become `true` and `false`, and floats look as the emitter writes them; null, maps and lists
//! cannot be converted. A `set` binds its name for the following entries of its collection and block, and for everything
//! below them.

use std::sync::LazyLock;

use minijinja::{Environment, UndefinedBehavior, filters as builtin, functions, tests};

use super::{checks, filters, lex::TEXT_FILTER, limits::FUEL, lists};

/// The newest language level. This program supports every level from 1 to this one.
pub const LANGUAGE: u32 = 1;

pub(super) const FUNCTIONS: [&str; 1] = ["range"];

/// The environment in which expressions of a language level are compiled; none for an unknown level.
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

/// Defines a table of names and their implementations, and a function that adds them to a language.
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
    "bool" lists::truth,
    "default" lists::default,
    "first" lists::first,
    "float" lists::float,
    "indent" filters::indent,
    "int" lists::int,
    "items" lists::pairs,
    "join" filters::join,
    "last" lists::last,
    "length" lists::length,
    "lines" filters::lines,
    "list" lists::list,
    "lower" filters::lower,
    "map" lists::map,
    "max" lists::max,
    "min" lists::min,
    "reject" lists::reject,
    "rejectattr" lists::rejectattr,
    "replace" filters::replace,
    "reverse" lists::reverse,
    "round" builtin::round,
    "select" lists::select,
    "selectattr" lists::selectattr,
    "sha256" filters::sha256,
    "sort" lists::sort,
    "split" filters::split,
    "string" filters::string,
    "tojson" filters::tojson,
    "toyaml" filters::toyaml,
    "trim" filters::trim,
    "unique" lists::unique,
    "upper" filters::upper,
}

table! { TESTS, add_tests, add_test:
    "boolean" checks::boolean,
    "defined" tests::is_defined,
    "endingwith" checks::endingwith,
    "eq" checks::eq,
    "even" checks::even,
    "false" checks::is_false,
    "float" checks::float,
    "ge" checks::ge,
    "gt" checks::gt,
    "in" checks::is_in,
    "integer" checks::integer,
    "iterable" checks::iterable,
    "le" checks::le,
    "lt" checks::lt,
    "mapping" checks::mapping,
    "ne" checks::ne,
    "none" checks::none,
    "number" checks::number,
    "odd" checks::odd,
    "sequence" checks::sequence,
    "startingwith" checks::startingwith,
    "string" checks::string,
    "true" checks::is_true,
    "undefined" tests::is_undefined,
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn every_word_of_the_language_is_documented() {
        let documented: Vec<_> = include_str!("language.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//!"))
            .flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric())))
            .collect();
        for name in FUNCTIONS.iter().chain(FILTERS).chain(TESTS) {
            assert!(documented.contains(name), "{name}");
        }
    }

    #[test]
    fn no_other_level_is_known() {
        assert!(environment(LANGUAGE).is_some());
        assert!(environment(0).is_none());
        assert!(environment(LANGUAGE + 1).is_none());
    }
}
