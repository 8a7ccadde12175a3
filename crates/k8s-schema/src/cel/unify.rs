//! Types of expressions, and what type parameters stand for.
//!
//! Source: `checker/types.go` and `common/types/types.go` of cel-go.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::types::Type;

/// The type of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CelType {
    /// Any type.
    Dyn,
    Null,
    Type,
    /// A type without parameters: `bool`, `timestamp`, `quantity` …
    Named(&'static str),
    /// A type with parameters: `list`, `map`, `optional`.
    Of(&'static str, Vec<CelType>),
    /// An object of a schema.
    Object(Arc<Object>),
    /// A parameter in the table of functions.
    Letter(char),
    /// A parameter of an expression.
    Parameter(usize),
}

/// An object of a schema.
#[derive(Debug)]
pub(super) struct Object {
    /// Its position in the schema. Objects at two positions have two types, even if their fields are equal.
    place: usize,
    /// The types of its fields.
    pub(super) fields: BTreeMap<String, CelType>,
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl CelType {
    /// The type that a schema declares.
    pub(super) fn declared(kind: &Type, places: &mut usize) -> Self {
        match kind {
            Type::Dyn => Self::Dyn,
            Type::Null => Self::Null,
            Type::List(items) => Self::list(Self::declared(&items.kind, places)),
            Type::Map(values) => Self::map(Self::Named("string"), Self::declared(&values.kind, places)),
            Type::Optional(value) => Self::optional(Self::declared(&value.kind, places)),
            Type::Object(fields) => {
                *places += 1;
                let place = *places;
                let fields =
                    fields.iter().map(|(name, one)| (name.clone(), Self::declared(&one.kind, places)));
                Self::Object(Arc::new(Object { place, fields: fields.collect() }))
            }
            scalar => scalar.name().map_or(Self::Dyn, Self::Named),
        }
    }

    /// A list with elements of this type.
    pub(super) fn list(items: Self) -> Self {
        Self::Of("list", vec![items])
    }

    /// A map with keys and values of these types.
    pub(super) fn map(keys: Self, values: Self) -> Self {
        Self::Of("map", vec![keys, values])
    }

    /// A value of this type that may be absent.
    pub(super) fn optional(value: Self) -> Self {
        Self::Of("optional", vec![value])
    }

    /// The more general of two types that agree.
    pub(super) fn more_general(one: &Self, other: &Self) -> Self {
        if one.is_at_least_as_general(other) { one.clone() } else { other.clone() }
    }

    fn is_at_least_as_general(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn | Self::Parameter(_), _) => true,
            (_, Self::Dyn | Self::Parameter(_)) => false,
            (Self::Of(name, inner), Self::Of(other_name, other)) => {
                name == other_name && inner.iter().zip(other).all(|(a, b)| a.is_at_least_as_general(b))
            }
            (one, other) => one == other,
        }
    }

    fn is_nullable(&self) -> bool {
        match self {
            Self::Null | Self::Object(_) | Self::Of("optional", _) => true,
            Self::Named(name) => !matches!(*name, "bool" | "int" | "uint" | "double" | "string" | "bytes"),
            _ => false,
        }
    }
}

/// What type parameters stand for.
#[derive(Debug, Clone, Default)]
pub(super) struct Mapping {
    known: BTreeMap<usize, CelType>,
    count: usize,
}

impl Mapping {
    pub(super) fn parameter(&mut self) -> CelType {
        self.count += 1;
        CelType::Parameter(self.count)
    }

    /// A type from the table of functions, with new parameters for its letters.
    pub(super) fn instance(&mut self, kind: &CelType, letters: &mut BTreeMap<char, CelType>) -> CelType {
        match kind {
            CelType::Letter(letter) => letters.entry(*letter).or_insert_with(|| self.parameter()).clone(),
            CelType::Of(name, inner) => {
                CelType::Of(name, inner.iter().map(|one| self.instance(one, letters)).collect())
            }
            other => other.clone(),
        }
    }

    /// The type with everything that is known of its parameters.
    pub(super) fn resolved(&self, kind: &CelType) -> CelType {
        match kind {
            CelType::Parameter(number) => {
                self.known.get(number).map_or_else(|| kind.clone(), |known| self.resolved(known))
            }
            CelType::Of(name, inner) => {
                CelType::Of(name, inner.iter().map(|one| self.resolved(one)).collect())
            }
            other => other.clone(),
        }
    }

    /// The type with `dyn` for its unknown parameters.
    pub(super) fn settled(&self, kind: &CelType) -> CelType {
        match self.resolved(kind) {
            CelType::Parameter(_) => CelType::Dyn,
            CelType::Of(name, inner) => {
                CelType::Of(name, inner.iter().map(|one| self.settled(one)).collect())
            }
            other => other,
        }
    }

    /// Whether a value of one type can be used as the other. If so, parameters are replaced accordingly.
    pub(super) fn assign(&mut self, one: &CelType, other: &CelType) -> bool {
        self.assign_all(std::slice::from_ref(one), std::slice::from_ref(other))
    }

    /// The same for several types at once.
    pub(super) fn assign_all(&mut self, these: &[CelType], others: &[CelType]) -> bool {
        let mut next = self.clone();
        let fits = next.all_agree(these, others);
        if fits {
            *self = next;
        }
        fits
    }

    fn all_agree(&mut self, these: &[CelType], others: &[CelType]) -> bool {
        these.len() == others.len() && these.iter().zip(others).all(|(one, other)| self.agree(one, other))
    }

    fn agree(&mut self, one: &CelType, other: &CelType) -> bool {
        if let CelType::Parameter(number) = other {
            match self.replace(*number, one) {
                Replaced::Yes => return true,
                Replaced::Otherwise => return false,
                Replaced::Circular => {}
            }
        }
        if let CelType::Parameter(number) = one {
            return matches!(self.replace(*number, other), Replaced::Yes);
        }
        match (one, other) {
            (CelType::Dyn, _) | (_, CelType::Dyn) | (CelType::Type, CelType::Type) => true,
            (CelType::Null, kind) | (kind, CelType::Null) => kind.is_nullable(),
            (CelType::Of(a, these), CelType::Of(b, others)) => a == b && self.all_agree(these, others),
            (one, other) => one == other,
        }
    }

    /// Replaces a parameter, or reconciles what it stands for with another type.
    fn replace(&mut self, number: usize, kind: &CelType) -> Replaced {
        if *kind == CelType::Parameter(number) {
            return Replaced::Yes;
        }
        let Some(known) = self.known.get(&number).cloned() else {
            if self.occurs(number, kind) {
                return Replaced::Circular;
            }
            self.known.insert(number, kind.clone());
            return Replaced::Yes;
        };
        if *kind == known {
            return Replaced::Yes;
        }
        if !self.agree(kind, &known) {
            return Replaced::Otherwise;
        }
        let general = CelType::more_general(kind, &known);
        if !self.occurs(number, &general) {
            self.known.insert(number, general);
        }
        Replaced::Yes
    }

    fn occurs(&self, number: usize, kind: &CelType) -> bool {
        match kind {
            CelType::Parameter(other) if *other == number => true,
            CelType::Parameter(other) => {
                self.known.get(other).is_some_and(|known| self.occurs(number, known))
            }
            CelType::Of(_, inner) => inner.iter().any(|one| self.occurs(number, one)),
            _ => false,
        }
    }
}

/// The result of replacing a parameter.
enum Replaced {
    /// It stands for the type now.
    Yes,
    /// It stands for another type.
    Otherwise,
    /// It is part of the type.
    Circular,
}
