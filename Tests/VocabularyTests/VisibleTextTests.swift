import Testing

@testable import Vocabulary

struct VisibleTextTests {
    @Test(
        "What an eye cannot see becomes visible",
        arguments: [
            ("ls -la\n\tcat", "ls -la\n\tcat"),
            ("echo ok #\u{202E}sj.x", "echo ok #⟨U+202E⟩sj.x"),
            ("rm\u{200B} -rf", "rm⟨U+200B⟩ -rf"),
            ("a\rb\u{1B}[2K\u{7F}\u{9B}", "a⟨U+000D⟩b⟨U+001B⟩[2K⟨U+007F⟩⟨U+009B⟩"),
            ("x\u{2028}y\u{2029}z", "x⟨U+2028⟩y⟨U+2029⟩z"),
            ("\u{E0041}\u{FEFF}\u{AD}", "⟨U+E0041⟩⟨U+FEFF⟩⟨U+00AD⟩"),
            ("\u{3164}\u{2800}\u{115F}", "⟨U+3164⟩⟨U+2800⟩⟨U+115F⟩"),
            ("rm\u{A0}-rf", "rm⟨U+00A0⟩-rf"),
            ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"),
            ("grüße 漢字 שלום", "grüße 漢字 שלום"),
        ])
    func commands(raw: String, shown: String) { #expect(VisibleText.command(raw) == shown) }

    @Test(
        "Words keep what their script and pictures need, and no more",
        arguments: [
            ("⚠\u{FE0F} Dangerous", "⚠\u{FE0F} Dangerous"), ("a\u{FE0F}", "a⟨U+FE0F⟩"),
            ("👩\u{200D}💻", "👩\u{200D}💻"), ("a\u{200D}b", "a⟨U+200D⟩b"), ("می\u{200C}شود", "می\u{200C}شود"),
            ("a\u{A0}\u{A0}b", "a\u{A0}⟨U+00A0⟩b"), ("x\u{301}\u{302}\u{303}", "x\u{301}\u{302}⟨U+0303⟩"),
            ("1\u{FE0F}", "1⟨U+FE0F⟩"), ("/data/1\u{FE0F}", "/data/1⟨U+FE0F⟩"),
            ("#\u{FE0F}\u{20E3}", "#\u{FE0F}\u{20E3}"),
            ("x\u{489}", "x⟨U+0489⟩"), ("\u{FFFC}\u{1D159}", "⟨U+FFFC⟩⟨U+1D159⟩"),
        ])
    func scripts(raw: String, shown: String) { #expect(VisibleText.words(raw) == shown) }

    @Test("A value is one line")
    func value() { #expect(VisibleText.value("a\nFolder: /x\tb") == "a⟨U+000A⟩Folder: /x⟨U+0009⟩b") }

    @Test(
        "A line joins spaces, tabs and line ends alone, and loses no scalar",
        arguments: [
            ("a \u{301}\u{E0041}b", "a \u{301}⟨U+E0041⟩b"), ("a \u{FE0F}\u{200D}b", "a ⟨U+FE0F⟩⟨U+200D⟩b"),
            ("rm\u{A0}\u{A0}x", "rm\u{A0}⟨U+00A0⟩x"), ("\u{3000}x", "⟨U+3000⟩x"), (" a\t b\r\n\nc ", "a b c"),
            ("a\u{2028}b\u{B}c", "a⟨U+2028⟩b⟨U+000B⟩c"),
        ])
    func lines(raw: String, shown: String) { #expect(VisibleText.line(raw) == shown) }

    @Test("What is one line by itself names its breaks")
    func unbroken() {
        #expect(VisibleText.unbroken("a  b\n\tc\u{200B}") == "a  b⟨U+000A⟩⟨U+0009⟩c⟨U+200B⟩")
        #expect(VisibleText.trimmed(" \n\u{301}a\u{A0} ") == "\u{301}a\u{A0}")
    }

    @Test("Words keep the spaces of their language, a line has no breaks")
    func words() {
        #expect(VisibleText.words("oui\u{202F}?\u{3000}\u{200F}") == "oui\u{202F}?\u{3000}⟨U+200F⟩")
        #expect(
            VisibleText.line("Run this?\n\n  ls -la\r\n(no changes)\u{202E}") == "Run this? ls -la (no changes)⟨U+202E⟩"
        )
    }
}

struct AskFingerprintTests {
    @Test(
        "The digest is SHA-256",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func digest(message: String, hex: String) { #expect(PlainSHA256.hex(Array(message.utf8)) == hex) }

    @Test("A long message is hashed over many blocks")
    func longMessage() {
        let digest = PlainSHA256.hex([UInt8](repeating: 0x61, count: 1_000_000))
        #expect(digest == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test("Each part of what is shown changes the fingerprint, and no part can take the place of another")
    func parts() {
        var requests = [ApprovalRequest(id: ApprovalID("a"), subject: .exec, title: "t", message: "m", command: "c")]
        func also(_ change: (inout ApprovalRequest) -> Void) {
            var request = requests[0]
            change(&request)
            requests.append(request)
        }
        also { $0.subject = .plugin }
        also {
            $0.title = "tm"; $0.message = ""
        }
        also { $0.command = nil }
        also { $0.command = "" }
        also { $0.host = "h" }
        also { $0.facts.folder = "/srv" }
        also { $0.facts.lines = [.init("Node", "n")] }
        also { $0.facts.paths = ["Node", "n"] }
        also { $0.facts.leavesSandbox = true }
        also { $0.facts.reachesNetwork = true }
        #expect(Set(requests.map { AskFingerprint(of: $0) }).count == requests.count)
        var same = requests[0]
        same.id = ApprovalID("b")
        same.expiresAt = .zero
        #expect(AskFingerprint(of: same) == AskFingerprint(of: requests[0]))
    }
}

struct LocalTimeTests {
    @Test("An hour is that of the machine's zone")
    func hours() {
        let read = Instant.zero + .seconds(1_000)
        let clock = LocalTime(wallSeconds: 1_767_225_600 + 12 * 3600, secondsEast: 3600, zone: "CET", at: read)
        #expect(clock.hour(of: read + .seconds(65 * 60)) == "14:05 CET")
        #expect(clock.hour(of: read + .seconds(12 * 3600)) == "2 Jan, 01:00 CET")
        #expect(clock.hour(of: read + .seconds(48 * 3600)) == "3 Jan, 13:00 CET")
        #expect(clock.hour(of: Instant(nanoseconds: .max)) == nil)
        let west = LocalTime(wallSeconds: 10, secondsEast: -3600, zone: "", at: .zero)
        #expect(west.hour(of: .zero) == "23:00")
        #expect(LocalTime(wallSeconds: .max, secondsEast: 1, zone: "", at: .zero).hour(of: .zero) == nil)
    }
}
