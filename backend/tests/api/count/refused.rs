//! What cannot be asked for, or is not there.

use crate::count::series::shop;
use crate::support::{App, new_id};

#[tokio::test]
async fn what_cannot_be_answered_is_refused_by_name() {
    let app = App::start().await;
    let (ana, _) = shop(&app).await;
    let id = new_id();
    for (query, field) in [
        ("by=edge&flag=checkout".to_owned(), "flag"),
        ("by=edge&variant=on".to_owned(), "variant"),
        ("by=rule".to_owned(), "flag"),
        ("by=sdk_key&flag=checkout".to_owned(), "flag"),
        (format!("sdk_key={id}&place=default"), "place"),
        (format!("sdk_key={id}&reason=SPLIT"), "reason"),
        (format!("sdk_key={id}&mode=single"), "mode"),
        (format!("sdk_key={id}&by=variant"), "by"),
        ("zone=Mars/Olympus".to_owned(), "zone"),
        ("interval=minute&last_minutes=1441".to_owned(), "interval"),
        ("from=2024-05-01T00:00:00Z&to=2024-05-01T00:00:00Z".to_owned(), "from"),
        ("from=2024-05-01T00:00:00Z&last_minutes=5".to_owned(), "last_minutes"),
        ("last_minutes=0".to_owned(), "last_minutes"),
        ("from=2001-05-01T00:00:00Z".to_owned(), "from"),
    ] {
        assert_eq!(ana.get(&format!("/projects/shop/counts?{query}")).await.expect(422).fields(), [field], "{query}");
    }
    for query in ["flags?limit=0", "flags?limit=101"] {
        assert_eq!(ana.get(&format!("/projects/shop/counts/{query}")).await.expect(422).fields(), ["limit"]);
    }
    assert_eq!(ana.get("/projects/shop/flags/checkout/shares").await.expect(422).fields(), ["environment"]);
    for (query, named) in [
        ("by=colour", "by"),
        ("reason=because", "reason"),
        ("mode=double", "mode"),
        ("interval=week", "interval"),
        ("from=yesterday", "from"),
        ("to=9999-12-31T23:59:30Z", "to"),
        ("sdk_key=7", "sdk_key"),
        ("last_minutes=-1", "last_minutes"),
        ("environment=A%20B", "environment"),
        ("flag=a//b", "flag"),
        ("format=xml", "format"),
        ("colour=red", "colour"),
    ] {
        let refused = ana.get(&format!("/projects/shop/counts?{query}")).await.expect(400).body;
        assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains(named)), "{query}: {refused}");
    }
    for (query, noun) in [("flag=nobody", "flag 'nobody'"), ("environment=nowhere", "environment 'nowhere'")] {
        let absent = ana.get(&format!("/projects/shop/counts?{query}")).await.expect(404).body;
        assert!(absent["detail"].as_str().is_some_and(|detail| detail.contains(noun)), "{absent}");
    }
    let sam = app.member("Sam", None).await;
    for path in
        ["counts", "counts/summary", "counts/flags", "counts/errors", "flags/checkout/shares?environment=production"]
    {
        sam.get(&format!("/projects/shop/{path}")).await.expect(404);
    }
}
