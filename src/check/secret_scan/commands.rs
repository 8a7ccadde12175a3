//! Recognizes passwords in command lines and in the configuration of tools that neither assign nor quote them.

use super::{
    keys::{SHORTEST, names_credential},
    lines::is_of_key,
    literal::{is_literal, is_literal_in_line, is_made_up},
};

/// Words of texts in which a tool takes a password in a form of its own.
pub(super) const WORDS: [&str; 17] = [
    "--",
    "auth_pass",
    "chpasswd",
    "curl",
    "htpasswd",
    "ldap",
    "login",
    "mariadb",
    "masterauth",
    "mongo",
    "mysql",
    "password ",
    "redis-cli",
    "requirepass",
    "sshpass",
    "stats auth",
    "wget",
];
/// Settings of keepalived and Redis whose value follows after a space.
const SETTINGS: [&str; 3] = ["auth_pass", "masterauth", "requirepass"];
/// The minimum length of the value of such a setting.
const SHORTEST_SETTING: usize = 4;
/// The minimum length of the name of an option after one dash; others are letters.
const SHORTEST_OPTION: usize = 5;
/// Clients whose option `-p` has the password attached.
const MYSQL: [&str; 6] = ["mariadb", "mariadb-admin", "mariadb-dump", "mysql", "mysqladmin", "mysqldump"];

const MONGO: [&str; 4] = ["mongo", "mongodump", "mongorestore", "mongosh"];
const LDAP: [&str; 5] = ["ldapadd", "ldapdelete", "ldapmodify", "ldapsearch", "ldapwhoami"];

/// Whether a command line passes a password: `--password hunter2`, `sshpass -p …`, `echo root:… | chpasswd`, and `.netrc`.
pub(super) fn hands_over(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let login =
        line.contains("sshpass") || line.contains("docker login") || line.contains("helm registry login");
    let netrc = words.contains(&"login") && words.contains(&"machine");
    let by_flag = words.windows(2).any(|pair| {
        let (flag, value) = (pair[0], pair[1]);
        let name = flag.trim_start_matches('-');
        let named = is_long_option(flag) && names_credential(name) || netrc && flag == "password";
        // A setting whose value follows after a space, within a longer line.
        let is_set = !flag.starts_with('-') && is_made_up(value) && names_credential(flag);
        let literal = !value.starts_with('-') && is_literal_in_line(value) && is_literal(value);
        (named || is_set || login && flag == "-p") && literal && value.len() >= SHORTEST
    });
    let piped = || {
        let word = line.split("chpasswd").next().unwrap_or_default().split([' ', '"', '\'', '|']);
        let mut pairs = word.filter_map(|word| word.split_once(':'));
        pairs.any(|(user, password)| !user.is_empty() && is_literal(password) && password.len() >= SHORTEST)
    };
    by_flag || line.contains("chpasswd") && piped() || of_client(&words) || sets(line)
}

/// Whether the words of a command line pass a password to a client, or to `sshpass`.
pub(super) fn logs_in(words: &[&str]) -> bool {
    let is_password = |text: &str| text.len() >= SHORTEST && is_literal(text) && is_literal_in_line(text);
    let is_of_sshpass =
        |words: &&[&str]| words[0].ends_with("sshpass") && words[1] == "-p" && is_password(words[2]);
    of_client(words) || words.windows(3).any(|three| is_of_sshpass(&three))
}

/// Whether a word is an option with a name. Some programs have such options with one dash, as in `keytool -storepass`.
pub(super) fn is_long_option(word: &str) -> bool {
    word.starts_with("--") || word.starts_with('-') && word.len() > SHORTEST_OPTION
}

/// Whether a command line logs in to a server: `mysql -phunter2`, `curl -u me:hunter2`, `redis-cli -a hunter2`.
fn of_client(words: &[&str]) -> bool {
    let is_password = |text: &str| text.len() >= SHORTEST && is_literal(text) && is_literal_in_line(text);
    let runs = |names: &[&str]| {
        words.iter().any(|word| names.contains(&word.rsplit('/').next().unwrap_or_default()))
    };
    let after = |flags: &[&str], test: &dyn Fn(&str) -> bool| {
        words.windows(2).any(|pair| flags.contains(&pair[0]) && test(pair[1]))
    };
    let of_user = |text: &str| {
        text.split_once(':').is_some_and(|(user, password)| !user.is_empty() && is_password(password))
    };
    let own = |word: &str| word.strip_prefix("-p").map(|own| own.trim_matches(['"', '\'']).to_owned());
    let attached = || words.iter().filter_map(|word| own(word)).any(|own| is_password(&own));
    let is_batch = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.contains('b');
    runs(&MYSQL) && attached()
        || runs(&["sshpass"]) && attached()
        || runs(&MONGO) && after(&["-p"], &is_password)
        || runs(&LDAP) && after(&["-w"], &is_password)
        || runs(&["stats"]) && after(&["auth"], &of_user)
        || runs(&["htpasswd"])
            && words.iter().any(is_batch)
            && words.last().is_some_and(|last| is_password(last))
        || runs(&["curl"]) && after(&["-u", "--user", "-U", "--proxy-user"], &of_user)
        || runs(&["redis-cli"]) && after(&["-a"], &is_password)
}

/// Whether a line has nothing but a setting and its value, separated by a space.
pub(super) fn sets(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (Some(key), Some(value), None) = (words.next(), words.next(), words.next()) else { return false };
    let value = value.trim_matches(['"', '\'']);
    let by_tool = SETTINGS.contains(&key) && value.len() >= SHORTEST_SETTING;
    (by_tool || value.len() > SHORTEST && is_made_up(value) && names_credential(key))
        && is_literal(value)
        && is_literal_in_line(value)
}

/// The lines that contain passwords in files of some tools.
pub(super) fn of_files(text: &str) -> impl Iterator<Item = usize> {
    [of_netrc, of_chpasswd, of_pgpass, of_htdigest].into_iter().flat_map(|of| of(text))
}

/// The lines of a `.pgpass` file of `PostgreSQL`: `host:port:database:user:password`.
fn of_pgpass(text: &str) -> Vec<usize> {
    let is_set = |line: &str| {
        // Every line of every text comes here, and few have four colons.
        if line.bytes().filter(|byte| *byte == b':').take(5).count() != 4 {
            return false;
        }
        let fields: Vec<&str> = line.trim().split(':').collect();
        let [host, port, database, user, password] = fields[..] else { return false };
        let is_port =
            port == "*" || (2..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        let is_of_login = |text: &str| text == "*" || !text.is_empty() && text.chars().all(is_of_key);
        is_port
            && [host, database, user].into_iter().all(is_of_login)
            && user.starts_with(|c: char| c == '*' || c.is_ascii_alphabetic())
            && password.len() >= SHORTEST
            && !password.contains([' ', '/'])
            && is_literal(password)
    };
    text.lines().enumerate().filter(|(_, line)| is_set(line)).map(|(number, _)| number).collect()
}

/// The lines of a file of htdigest(1): `user:realm:digest`, whose digest logs in and can be searched for the password.
fn of_htdigest(text: &str) -> Vec<usize> {
    let is_set = |line: &str| {
        // Every line of every text comes here, and few end with a digest.
        let Some((login, digest)) = line.trim_end().rsplit_once(':').filter(|(_, end)| end.len() == 32)
        else {
            return false;
        };
        let is_digest = digest.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
        let is_user = |(user, realm): (&str, &str)| {
            let is_realm = !realm.is_empty() && !realm.starts_with(' ') && !realm.contains(':');
            !user.is_empty() && is_realm && user.chars().all(is_of_key)
        };
        is_digest && login.split_once(':').is_some_and(is_user)
    };
    text.lines().enumerate().filter(|(_, line)| is_set(line)).map(|(number, _)| number).collect()
}

/// The lines of a `.netrc` that contain passwords.
fn of_netrc(text: &str) -> Vec<usize> {
    let lines = || text.lines().map(str::trim).enumerate();
    if !text.contains("login ") || !lines().any(|(_, line)| line.starts_with("machine ")) {
        return Vec::new();
    }
    let is_set = |line: &str| {
        let value = line.strip_prefix("password ").map(str::trim);
        value.is_some_and(|value| value.len() >= SHORTEST && is_literal(value) && is_literal_in_line(value))
    };
    lines().filter(|(_, line)| is_set(line)).map(|(number, _)| number).collect()
}

/// The lines of a cloud-init configuration that set passwords: `user:password` below `chpasswd`.
fn of_chpasswd(text: &str) -> Vec<usize> {
    if !text.contains("chpasswd:") {
        return Vec::new();
    }
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (mut inside, mut found) = (None, Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        inside = inside.filter(|above| depth(line) > *above);
        if line.trim() == "chpasswd:" {
            inside = Some(depth(line));
        }
        let pair = line.trim().trim_start_matches("- ").trim_matches(['"', '\'']).split_once(':');
        let set = |(user, password): (&str, &str)| {
            let word = !user.is_empty() && user.chars().all(is_of_key) && !password.contains(' ');
            word && password.len() >= SHORTEST && is_literal(password) && password != "RANDOM"
        };
        if inside.is_some() && pair.is_some_and(set) {
            found.push(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_cloud_init_are_found() {
        let list = "#cloud-config\nchpasswd:\n  list: |\n    root:hunter2hunter2\n    bob:RANDOM\nruncmd:\n  - a:bcdefgh\n";
        assert_eq!(of_chpasswd(list), [3]);
        assert!(of_chpasswd("chpasswd:\n  list: |\n    root:$6$salt$hash\n  expire: false\n").is_empty());
    }

    #[test]
    fn clients_and_settings_have_passwords_in_forms_of_their_own() {
        for line in [
            "mysql -uroot -pS3cr3tPw9 app",
            "/usr/bin/mysqldump -phunter2hunter2",
            "curl -u me:hunter2hunter2 https://x",
            "redis-cli -a hunter2hunter2 ping",
            "auth_pass x1y2",
            "requirepass hunter2",
            "sshpass -phunter2hunter2 ssh node",
            "mongosh -u root -p hunter2hunter2",
            "ldapsearch -D cn=admin -w hunter2hunter2",
            "stats auth admin:hunter2hunter2",
            "user admin insecure-password hunter2hunter2",
            "htpasswd -bc /etc/htpasswd admin hunter2hunter2",
        ] {
            assert!(hands_over(line), "{line}");
        }
        for line in [
            "mysql -uroot -p app",
            "mysql -p$PASSWORD",
            "mysql -u root -p\"$PASSWORD\" -e 'select 1'",
            "curl -u me:$PASSWORD https://x",
            "curl -u me https://x",
            "ls -pretty",
            "auth_pass ${PASS}",
            "mongosh -p 27017",
            "ldapsearch -w $PASSWORD",
            "htpasswd -c /etc/htpasswd administrator",
            "stats auth admin:${PASSWORD}",
            "the password is required",
            "ssl_password_file /etc/keys/global2.pass",
            "requirepass the setting",
        ] {
            assert!(!hands_over(line), "{line}");
        }
        assert!(
            sets("password hunter2hunter2") && !sets("password required") && !sets("checksum hunter2hunter2")
        );
    }

    #[test]
    fn files_of_htdigest_are_told_from_digests() {
        let digest = "0123456789abcdef0123456789abcdef";
        assert_eq!(of_htdigest(&format!("# users\nadmin:Staff only:{digest}\n")), [1]);
        for other in ["a b:c:", "a:b:c:", "::", "image:sha:0", "md5:", "image: sha:", "a::"] {
            assert!(of_htdigest(&format!("{other}{digest}")).is_empty(), "{other}");
        }
    }

    #[test]
    fn password_files_of_postgresql_are_found() {
        assert_eq!(
            of_pgpass("# hosts\ndb.example.org:5432:app:me:hunter2hunter2\n*:*:*:*:hunter2hunter2\n"),
            [1, 2]
        );
        for other in [
            "2001:1234:5:6:abcd",
            "a:b:c:d:hunter2hunter2",
            "2026-01-01T10:00:00 a:b",
            "host:5432:app:me:$PASSWORD",
        ] {
            assert!(of_pgpass(other).is_empty(), "{other}");
        }
    }
}
