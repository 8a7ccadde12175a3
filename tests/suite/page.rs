//! The page of `stackloom diff`, parsed like in a browser: its structure, its accessibility, and that text from definitions
//! stays text.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    process::Command,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use html5ever::{ParseOpts, parse_document, tendril::TendrilSink as _};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use stackloom::{
    note::Notes,
    report::{self, Page, Report, Risk},
};

use super::{diff, environment, sandbox};

/// The elements of a page. None of them runs, loads or sends anything.
const ELEMENTS: [&str; 33] = [
    "a", "article", "body", "caption", "code", "details", "div", "footer", "h1", "h2", "h3", "head",
    "header", "html", "li", "main", "meta", "nav", "ol", "p", "section", "span", "strong", "style",
    "summary", "table", "tbody", "td", "th", "thead", "title", "tr", "ul",
];

const ATTRIBUTES: [&str; 13] = [
    "aria-label",
    "aria-labelledby",
    "charset",
    "class",
    "content",
    "href",
    "http-equiv",
    "id",
    "lang",
    "name",
    "role",
    "scope",
    "tabindex",
];

/// An element with its attributes and text, in page order.
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    text: String,
    /// The names of its ancestors.
    around: Vec<String>,
}

fn elements(page: &str) -> Vec<Element> {
    let dom = parse_document(RcDom::default(), ParseOpts::default()).one(page);
    let errors = dom.errors.borrow();
    assert!(errors.is_empty(), "{errors:?}");
    let mut found = Vec::new();
    gather(&dom.document, &mut Vec::new(), &mut found);
    found
}

fn gather(node: &Handle, around: &mut Vec<String>, found: &mut Vec<Element>) {
    let NodeData::Element { name, attrs, .. } = &node.data else {
        node.children.borrow().iter().for_each(|child| gather(child, around, found));
        return;
    };
    let name = name.local.to_string();
    let attributes =
        attrs.borrow().iter().map(|one| (one.name.local.to_string(), one.value.to_string())).collect();
    found.push(Element { name: name.clone(), attributes, text: text(node), around: around.clone() });
    around.push(name);
    node.children.borrow().iter().for_each(|child| gather(child, around, found));
    around.pop();
}

fn text(node: &Handle) -> String {
    let mut out = String::new();
    if let NodeData::Text { contents } = &node.data {
        write!(out, "{}", contents.borrow()).unwrap();
    }
    node.children.borrow().iter().for_each(|child| out.push_str(&text(child)));
    out
}

fn named<'a>(all: &'a [Element], name: &'a str) -> impl Iterator<Item = &'a Element> {
    all.iter().filter(move |one| one.name == name)
}

/// Checks what must hold for every page.
fn holds(page: &str, of: &str) -> Vec<Element> {
    let all = elements(page);
    for one in &all {
        assert!(ELEMENTS.contains(&&*one.name), "{of}: <{}>", one.name);
        for (attribute, value) in &one.attributes {
            assert!(ATTRIBUTES.contains(&&**attribute), "{of}: {attribute}={value}");
        }
    }
    let ids: Vec<&String> = all.iter().filter_map(|one| one.attributes.get("id")).collect();
    let known: BTreeSet<&str> = ids.iter().map(|id| id.as_str()).collect();
    assert_eq!(ids.len(), known.len(), "{of}: an id twice: {ids:?}");
    for one in &all {
        if let Some(target) = one.attributes.get("href") {
            let id = target.strip_prefix('#').unwrap_or_else(|| panic!("{of}: a link leads away: {target}"));
            assert!(known.contains(id), "{of}: {target}");
        }
        if let Some(label) = one.attributes.get("aria-labelledby") {
            assert!(known.contains(&**label), "{of}: {label}");
        }
    }
    for (name, count) in [("html", 1), ("title", 1), ("h1", 1), ("main", 1), ("header", 1), ("footer", 1)] {
        assert_eq!(named(&all, name).count(), count, "{of}: <{name}>");
    }
    assert_eq!(named(&all, "html").next().unwrap().attributes["lang"], "en");
    let heading = named(&all, "h1").next().unwrap().text.clone();
    assert!(named(&all, "title").next().unwrap().text.starts_with(&heading), "{of}");
    headings_are_in_order(&all, of);
    for cell in named(&all, "th") {
        assert!(matches!(cell.attributes["scope"].as_str(), "row" | "col"), "{of}: {}", cell.text);
        assert!(!cell.text.trim().is_empty(), "{of}: an empty header");
    }
    for region in all.iter().filter(|one| one.attributes.get("role").is_some_and(|role| role == "region")) {
        assert!(region.attributes.contains_key("aria-label"), "{of}");
    }
    all
}

fn headings_are_in_order(all: &[Element], of: &str) {
    let mut last = 0;
    for level in all.iter().filter_map(|one| one.name.strip_prefix('h')?.parse::<u8>().ok()) {
        assert!(level <= last + 1, "{of}: h{level} below h{last}");
        last = level;
    }
}

/// The rows of the table of risk classes: title, clusters, machines lost, machines added, changes outside clusters.
fn risks(all: &[Element]) -> BTreeMap<String, (usize, usize)> {
    let mut rows = BTreeMap::new();
    let from = all.iter().position(|one| one.attributes.get("id").is_some_and(|id| id == "risks"));
    let Some(from) = from else { return rows };
    let body = all[from..].iter().skip_while(|one| one.name != "tbody").skip(1);
    let cells: Vec<&Element> = body
        .take_while(|one| one.around.iter().any(|name| name == "tbody"))
        .filter(|one| matches!(one.name.as_str(), "th" | "td"))
        .collect();
    for row in cells.chunks(5) {
        let numbers = (row[1].text.parse().unwrap(), row[4].text.parse().unwrap());
        rows.insert(row[0].text.clone(), numbers);
    }
    rows
}

/// Checks that all risk classes with their counts and all clusters are on the page.
fn is_whole(all: &[Element], report: &Report, of: &str) {
    let count = |risk: Risk| {
        let clusters = report.clusters.iter().filter(|one| one.risk == risk).count();
        (clusters, report.beside.iter().filter(|one| one.risk == risk).count())
    };
    let expected: BTreeMap<String, (usize, usize)> = Risk::ALL
        .into_iter()
        .map(|risk| (risk.title().to_owned(), count(risk)))
        .filter(|(_, counts)| *counts != (0, 0))
        .collect();
    assert_eq!(risks(all), expected, "{of}");
    let rows: BTreeSet<&str> = named(all, "th").map(|one| one.text.as_str()).collect();
    for cluster in &report.clusters {
        let id = &cluster.cluster;
        let name = if cluster.has_namesake { id.whole() } else { id.to_string() };
        assert!(rows.contains(&*name), "{of}: {name}");
    }
}

/// Checks the page of a report: it must be valid, and leave out no risk class and no cluster.
pub(super) fn is_sound(report: &Report, of: &str) {
    let page = report::html(&Page { report: Some(report), compared: "before", notes: &Notes::new() });
    is_whole(&holds(&page, of), report, of);
}

#[test]
fn every_page_is_sound_and_whole() {
    for made in diff::cases() {
        let name = made.case.file_name().unwrap().to_string_lossy().into_owned();
        let all = holds(&made.html(), &name);
        is_whole(&all, &made.report, &name);
        assert_eq!(named(&all, "h1").next().unwrap().text, report::summary(&made.report));
        let page = &named(&all, "body").next().unwrap().text;
        let changes = made.report.groups.iter().flat_map(|group| &group.changes).map(|one| &one.change);
        let reasons = changes
            .flat_map(|one| one.forecast.iter().map(ToString::to_string).chain(one.reasons.iter().cloned()));
        for reason in reasons {
            // What stands between backticks is code on the page.
            let is_code = reason.matches('`').count().is_multiple_of(2);
            let shown = if is_code { reason.replace('`', "") } else { reason.clone() };
            assert!(page.contains(&shown), "{name}: {reason}");
        }
    }
}

/// Text from definitions that contains markup.
#[test]
fn hostile_text_stays_text() {
    let made = diff::case("hostile-text");
    let all = holds(&made.html(), "hostile-text");
    let cells: Vec<&str> = named(&all, "th").chain(named(&all, "td")).map(|one| one.text.as_str()).collect();
    for hostile in [
        "@everyone|</details>`x`",
        "values[\"</details><script>alert(1)</script>\"]",
        "\"``` | @someone <img src=x onerror=alert(1)> [l](https://example.org) \u{202e}\"",
    ] {
        assert!(cells.contains(&hostile), "{hostile}: {cells:?}");
    }
    let mut notes = Notes::new();
    notes.error("odd", None, "</li></main><script>alert(1)</script>").hint("\"><img src=x onerror=alert(1)>");
    let page = report::html(&Page { report: None, compared: "\"><script>", notes: &notes });
    let all = holds(&page, "messages");
    assert!(named(&all, "li").any(|one| one.text.contains("</li></main><script>alert(1)</script>")));
    assert_eq!(named(&all, "h1").next().unwrap().text, "Nothing was compared");
}

/// The page's policy allows loading nothing, and only its own style, by digest.
#[test]
fn the_policy_of_a_page_allows_its_own_style_alone() {
    let page = report::html(&Page { report: Some(&Report::default()), compared: "x", notes: &Notes::new() });
    let all = holds(&page, "empty");
    let policies = named(&all, "meta").filter(|one| one.attributes.contains_key("http-equiv"));
    let policies: Vec<&str> = policies.map(|one| one.attributes["content"].as_str()).collect();
    let [policy] = policies[..] else { panic!("{policies:?}") };
    let style = &named(&all, "style").next().unwrap().text;
    let digest = STANDARD.encode(Sha256::digest(style));
    let expected =
        format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'");
    assert_eq!(policy, expected);
}

/// Loads a page in a frame as wide as a phone, and says what a browser makes of it.
const FRAME: &str = r#"<!DOCTYPE html><meta charset="utf-8"><iframe src="page.html" width="400" height="800"></iframe>
<script>
onload = () => {
  const page = document.querySelector('iframe').contentDocument, root = page.documentElement
  const shown = (one) => one.getClientRects().length > 0
  document.body.textContent = JSON.stringify({
    heading: page.querySelector('h1').textContent,
    overflow: root.scrollWidth - root.clientWidth,
    font: getComputedStyle(page.body).fontFamily,
    hidden: [...page.querySelectorAll('h1, h2, h3, summary, th[scope=row] a')].filter((one) => !shown(one) && !one.closest('details')).length,
    ran: typeof document.querySelector('iframe')?.contentWindow?.ran,
  })
}
</script>"#;

fn browser() -> Option<String> {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| is_there(name));
    found
        .map(str::to_owned)
        .or_else(|| environment::named("STACKLOOM_BROWSER", "a Chromium, or install `chromium`"))
}

/// Seen by a real browser, a page has its own style, fits a narrow screen, and nothing in it runs or is refused.
#[test]
fn a_browser_shows_the_page_as_it_is_meant() {
    let Some(browser) = browser() else { return };
    let folder = sandbox::folder();
    let shown = |page: &str| -> Result<Json, String> {
        sandbox::write(&folder.path().join("page.html"), page);
        sandbox::write(&folder.path().join("frame.html"), FRAME);
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let url = format!("file://{}", folder.path().join("frame.html").display());
        let output = Command::new(&browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--enable-logging=stderr",
            ])
            .args([
                "--allow-file-access-from-files",
                "--virtual-time-budget=20000",
                "--dump-dom",
                &profile,
                &url,
            ])
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        if log.contains("CONSOLE") {
            return Err(log);
        }
        let dom = String::from_utf8_lossy(&output.stdout).into_owned();
        let body = parse_document(RcDom::default(), ParseOpts::default()).one(dom.as_str());
        let text = text(&body.document);
        let at = text.find('{').unwrap_or_else(|| panic!("{dom} {log}"));
        Ok(serde_json::from_str(text[at..].trim()).unwrap())
    };
    for made in ["everything", "hostile-text"].map(diff::case) {
        let (name, found) = (made.case.display(), shown(&made.html()).unwrap());
        assert_eq!(found["heading"], report::summary(&made.report), "{name}");
        assert_eq!(found["overflow"], 0, "{name}: wider than a phone: {found}");
        assert!(found["font"].as_str().unwrap().contains("sans-serif"), "{name}: no style: {found}");
        assert_eq!((&found["hidden"], &found["ran"]), (&Json::from(0), &Json::from("undefined")), "{name}");
    }
    // What the policy is for: the browser refuses a script, and the test would see it.
    let page = report::html(&Page { report: None, compared: "x", notes: &Notes::new() });
    let hostile = page.replace("</main>", "<script>ran = 1</script></main>");
    let refused = shown(&hostile).unwrap_err();
    assert!(refused.contains("Content Security Policy"), "{refused}");
}
