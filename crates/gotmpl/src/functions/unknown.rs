//! Functions whose result depends on randomness, the clock or keys.

use super::super::budget::Context;
use super::super::error::{Outcome, unsupported};
use super::super::value::Value;
use super::{Function, Type};

use Type::{Any, AnyList, Int, Text};

/// Functions that the parser accepts but that fail when called.
macro_rules! unpredictable {
    ($($name:literal $params:expr;)*) => {
        &[$(Function::new($name, $params, {
            fn refuse<'a>(_: &mut Context<'a>, _: &[Value<'a>]) -> Outcome<Value<'a>> {
                Err(unsupported(concat!("the result of ", $name, " cannot be predicted")))
            }
            refuse
        }),)*]
    };
}

pub(super) const FUNCTIONS: &[Function] = unpredictable! {
    "ago" &[Any];
    "bcrypt" &[Text];
    "buildCustomCert" &[Text, Text];
    "decryptAES" &[Text, Text];
    "derivePassword" &[Type::Uint32, Text, Text, Text, Text];
    "encryptAES" &[Text, Text];
    "genCA" &[Text, Int];
    "genCAWithKey" &[Text, Int, Text];
    "genPrivateKey" &[Text];
    "genSelfSignedCert" &[Text, AnyList, AnyList, Int];
    "genSelfSignedCertWithKey" &[Text, AnyList, AnyList, Int, Text];
    "genSignedCert" &[Text, AnyList, AnyList, Int, Any];
    "genSignedCertWithKey" &[Text, AnyList, AnyList, Int, Any, Text];
    "htpasswd" &[Text, Text];
    "randInt" &[Int, Int];
    "shuffle" &[Text];
};
