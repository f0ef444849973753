import Attachments
import Glibc
import Testing
import Vocabulary
import WireTesting

@Suite("Files that are fetched")
struct AttachmentFetcherTests {
    private static func file(_ outcome: AttachmentOutcome?) -> MessageFile? {
        if case .file(let file)? = outcome { file } else { nil }
    }

    @Test(
        "are on the disk byte for byte, for their user alone",
        arguments: ["png", "chunked", "without-length", "hops/5", "relative", "to/http://127.0.0.1:HTTP/png"])
    func whole(path: String) throws {
        let servers = try HostileServers()
        let file = try #require(Self.file(try servers.fetch(servers.relay(path))))
        #expect(HostileServers.bytes(file) == HostileServers.png)
        #expect(file.size == HostileServers.png.count && file.mimeType == "image/png" && file.name == "a.png")
        var status = stat()
        #expect(lstat(file.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(lstat(servers.folder, &status) == 0 && status.st_mode & 0o777 == 0o700)
        servers.fetcher.drop(TurnID("t1"))
        #expect(servers.filesOnDisk == [])
    }

    @Test("nothing of ours goes along, whoever is asked")
    func bare() throws {
        let servers = try HostileServers { $0.isAllowed = { _ in true } }
        for url in [servers.relay("png"), servers.foreign("png")] {
            _ = try servers.fetch(url)
            let words = try servers.request().lowercased()
            for secret in ["authorization", "cookie", "accept-encoding", "referer"] {
                #expect(!words.contains(secret), "\(words)")
            }
        }
    }

    @Test("have the type of their bytes where they say it, else that of the phone, else that of the server")
    func types() throws {
        let servers = try HostileServers()
        #expect(Self.file(try servers.fetch(servers.relay("png"), type: "image/jpeg"))?.mimeType == "image/png")
        #expect(Self.file(try servers.fetch(servers.relay("png"), type: nil))?.mimeType == "image/png")
        #expect(
            Self.file(try servers.fetch(servers.relay("text"), type: "Text/Markdown; x=y"))?.mimeType == "text/markdown"
        )
        #expect(Self.file(try servers.fetch(servers.relay("text"), type: "no type"))?.mimeType == "text/plain")
        #expect(try servers.problem(servers.relay("html-as-png")) == "it is not the picture that it is said to be")
    }

    @Test("are no page that says why the file is not there, and are what they are said to be")
    func kinds() throws {
        let servers = try HostileServers()
        let page = "the server sent a web page instead of it"
        for type in ["application/pdf", "text/plain", "application/json", "video/mp4"] {
            #expect(try servers.problem(servers.relay("html-as-png"), type: type) == page, "\(type)")
        }
        #expect(try servers.problem(servers.relay("html-as-png"), type: nil) == page)
        #expect(try servers.problem(servers.relay("html-as-text"), type: "application/x-notes") == page)
        let other = "it is not of the kind that it is said to be"
        for type in ["application/pdf", "application/zip", "application/vnd.openxmlformats-officedocument.a.b"] {
            #expect(try servers.problem(servers.relay("text"), type: type) == other, "\(type)")
        }
        #expect(Self.file(try servers.fetch(servers.relay("html-as-png"), type: "text/html"))?.mimeType == "text/html")
        #expect(
            Self.file(try servers.fetch(servers.relay("html-as-text"), type: "text/plain"))?.mimeType == "text/plain")
        #expect(Self.file(try servers.fetch(servers.relay("pdf"), type: "application/pdf")) != nil)
        let named = try servers.fetch([Attachment(url: servers.relay("html-as-png"), name: "Page.HTML")])
        #expect(Self.file(named.first?.outcome)?.mimeType == "text/html")
    }

    @Test("over TLS from a host that may be asked")
    func foreign() throws {
        let servers = try HostileServers { $0.isAllowed = { _ in true } }
        let file = try #require(Self.file(try servers.fetch(servers.foreign("png"))))
        #expect(HostileServers.bytes(file) == HostileServers.png)
        // The server's certificate comes neither from the relay's authority nor from the system's.
        let others = try HostileServers {
            $0.isAllowed = { _ in true }
            $0.foreignAuthorityFile = nil
        }
        #expect(try others.problem(others.foreign("png")) == "the server could not show who it is (TLS)")
    }

    @Test("of one message come in its order, each with its own outcome; only so many are taken")
    func several() throws {
        let servers = try HostileServers()
        let paths = ["png", "status/404", "text"] + Array(repeating: "png", count: 15)
        let fetched = try servers.fetch(
            paths.map { Attachment(url: servers.relay($0), name: $0) } + [Attachment(key: "u/1", name: "none")])
        #expect(fetched.count == 19)
        #expect(
            fetched.map { Self.file($0.outcome) != nil } == [true, false, true] + Array(repeating: true, count: 13)
                + Array(repeating: false, count: 3))
        #expect(servers.filesOnDisk.count == 15)
    }

    @Test("an address that is none is named")
    func addresses() throws {
        let servers = try HostileServers()
        for (address, problem) in [
            ("", "its address cannot be used"), ("not an address", "its address cannot be used"),
            ("file:///etc/passwd", "its address cannot be used"), ("ftp://127.0.0.1/x", "its address cannot be used"),
            ("gopher://127.0.0.1/x", "its address cannot be used"),
            ("https://user:pass@files.example/", "its address cannot be used"),
            ("http://user@127.0.0.1:\(servers.http)/png", "its address cannot be used"),
            ("https://files.example/\r\nHost: x", "its address cannot be used"),
            ("http://files.example/", "its address is not encrypted (https)"),
            ("http://127.0.0.1:\(servers.https)/png", "its address is not encrypted (https)"),
            ("http://localhost:\(servers.http)/png", "its address is not encrypted (https)"),
        ] {
            #expect(try servers.problem(address) == problem, "\(address)")
        }
        let none = try servers.fetch([Attachment(key: "u/1", name: "a.png")])
        #expect(none.first?.outcome == .missing(.notFetched("a.png", "the message does not say where it is")))
        #expect(servers.filesOnDisk == [])
    }

    @Test(
        "an address into a private network is refused when it is connected to, however it is spelt",
        arguments: [
            "https://127.0.0.1/", "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/", "https://[::1]/",
            "https://[::ffff:127.0.0.1]/", "https://[::ffff:169.254.169.254]/", "https://[64:ff9b::a9fe:a9fe]/",
            "https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/", "https://0/",
            "https://localhost/", "https://files.example/", "https://six.example/", "https://[fe80::1]/",
            "https://224.0.0.1/", "https://100.64.0.1/",
        ])
    func privateAddresses(url: String) throws {
        let servers = try HostileServers()
        #expect(try servers.problem(url) == "its address leads into a private network")
        #expect(servers.filesOnDisk == [])
    }

    @Test(
        "a redirect is judged like any address",
        arguments: [
            ("https://169.254.169.254/latest", "its address leads into a private network"),
            ("https://files.example:HTTPS/png", "its address leads into a private network"),
            ("http://169.254.169.254/latest", "its address is not encrypted (https)"),
            ("http://127.0.0.1:HTTPS/png", "its address is not encrypted (https)"),
            ("file:///etc/passwd", "its address cannot be used"),
            ("https://u:p@127.0.0.1:HTTP/png", "its address cannot be used"),
        ])
    func redirects(to: String, problem: String) throws {
        let servers = try HostileServers()
        #expect(try servers.problem(servers.relay("to/" + to)) == problem)
        #expect(servers.filesOnDisk == [])
    }

    @Test("no redirect leads from TLS into the open, not even to the relay")
    func downgrade() throws {
        let servers = try HostileServers { $0.isAllowed = { _ in true } }
        #expect(
            try servers.problem(servers.foreign("to/http://127.0.0.1:HTTP/png"))
                == "its address is not encrypted (https)")
    }

    @Test(
        "a server that lies or never ends is named, and leaves nothing on the disk",
        arguments: [
            ("status/404", "the server answered 404"), ("status/206", "the server answered 206"),
            ("status/500", "the server answered 500"), ("no-place", "the server answered 302"),
            ("empty", "it is empty"),
            ("loop", "its address leads from one server to the next without an end"),
            ("hops/6", "its address leads from one server to the next without an end"),
            ("refuses-for-ever", "the server answered 302"),
            ("says-more", "the connection broke off before it was whole"),
            ("says-much", "it is larger than 1 MB"), ("never-ends", "it is larger than 1 MB"),
            ("size/1048577", "it is larger than 1 MB"),
            ("headers-never-end", "the server's answer could not be read"),
            ("bomb", "the server sent it packed, which was not asked for"),
            ("bomb-then-identity", "the server sent it packed, which was not asked for"),
            ("transfer-gzip", "the server sent it packed, which was not asked for"),
            ("drips", "the server is too slow"),
            ("silent", "the server is too slow"),
        ])
    func hostile(path: String, problem: String) throws {
        let servers = try HostileServers {
            $0.fileLimit = 1 << 20
            $0.timeLimit = .seconds(2)
        }
        #expect(try servers.problem(servers.relay(path)) == problem)
        #expect(servers.filesOnDisk == [])
    }

    @Test("what a server says behind the file counts for nothing")
    func trailers() throws {
        let servers = try HostileServers()
        let file = try #require(Self.file(try servers.fetch(servers.relay("trailers"), type: nil)))
        #expect(file.mimeType == "text/plain" && HostileServers.bytes(file) == Array("hello".utf8))
    }

    @Test("an address that is refused hides none that may be asked")
    func addressesOfOneName() throws {
        let servers = try HostileServers { $0.isAllowed = { $0 == .version4([127, 0, 0, 1]) } }
        for name in ["both.example", "mixed.example"] {
            let file = Self.file(try servers.fetch("https://\(name):\(servers.https)/png"))
            #expect(file.map { HostileServers.bytes($0) } == HostileServers.png, "\(name)")
        }
        #expect(
            try servers.problem("https://private.example:\(servers.https)/png")
                == "its address leads into a private network")
    }

    @Test("a size that is said too small or not at all is what the server keeps to, and no more")
    func lies() throws {
        let servers = try HostileServers()
        let file = try #require(Self.file(try servers.fetch(servers.relay("says-less"))))
        #expect(file.size == 16)
        #expect(try servers.problem(servers.relay("says-nonsense")) != nil)
    }

    @Test("files of exactly the limit are taken, and together only so many bytes")
    func limits() throws {
        let servers = try HostileServers { $0.fileLimit = 1_000 }
        let fetched = try servers.fetch(
            [1_000, 1_000, 1_001, 1_000, 1_000, 1].map { Attachment(url: servers.relay("size/\($0)")) })
        #expect(fetched.map { Self.file($0.outcome)?.size } == [1_000, 1_000, nil, 1_000, 1_000, nil])
        #expect(
            fetched.last?.outcome == .missing(.notFetched("file", "the files of this message are too large together")))
    }

    @Test("one that is slow beyond its pace is left before its time is over")
    func pace() throws {
        let servers = try HostileServers {
            $0.timeLimit = .seconds(90)
            $0.leastPace = (bytes: 1_000_000, over: .seconds(1))
        }
        #expect(try servers.problem(servers.relay("drips")) == "the server is too slow")
    }

    @Test("a turn that is dropped gets no answer, and nothing of it stays")
    func dropped() throws {
        let servers = try HostileServers()
        servers.begin([Attachment(url: servers.relay("png")), Attachment(url: servers.relay("gate"))])
        _ = try servers.request()
        _ = try servers.request()
        servers.fetcher.drop(TurnID("t1"))
        #expect(servers.filesOnDisk == [])
        // A dropped turn does not delay another.
        let file = Self.file(try servers.fetch([Attachment(url: servers.relay("png"))], for: "t2").first?.outcome)
        #expect(file != nil && !servers.hasAnswer)
    }

    @Test("slow files of some messages do not keep those of the others waiting")
    func inTurns() throws {
        let servers = try HostileServers { $0.timeLimit = .seconds(2) }
        let slow = Array(repeating: Attachment(url: servers.relay("silent"), name: "slow"), count: 3)
        for number in 1...4 { servers.begin(slow, for: "t\(number)") }
        for _ in 1...4 { _ = try servers.request() }
        let first = try servers.fetch([Attachment(url: servers.relay("png"), name: "quick")], for: "t5")
        #expect(first.count == 1 && Self.file(first.first?.outcome) != nil, "that of the last message came first")
    }

    @Test("what a message waits for its turns is not its own time")
    func ownTime() throws {
        let servers = try HostileServers {
            $0.timeLimit = .milliseconds(1_500)
            $0.waitLimit = .seconds(60)
        }
        let quick = Attachment(url: servers.relay("png"), name: "quick")
        let slow = Array(repeating: Attachment(url: servers.relay("silent"), name: "slow"), count: 3)
        for number in 1...8 { servers.begin(slow, for: "t\(number)") }
        servers.begin(Array(repeating: quick, count: 5), for: "quick")
        let fetched = try (1...9).map { _ in try servers.answer() }.first { $0.count == 5 }
        #expect(fetched?.compactMap { Self.file($0.outcome) }.count == 5)
    }

    @Test("a message whose turn does not come in time is told so")
    func notBegun() throws {
        let servers = try HostileServers {
            $0.timeLimit = .seconds(4)
            $0.waitLimit = .seconds(2)
        }
        for number in 1...4 { servers.begin([Attachment(url: servers.relay("gate"))], for: "t\(number)") }
        for _ in 1...4 { _ = try servers.request() }
        servers.begin([Attachment(url: servers.relay("png"), name: "a.png")], for: "t5")
        let answers = try (1...5).map { _ in try servers.answer() }
        let reasons = answers.compactMap { answer -> String? in
            if case .missing(let file)? = answer.first?.outcome { file.sentence } else { nil }
        }
        #expect(reasons.contains("a.png could not be fetched: too many files were to be fetched at the same time."))
    }

    @Test("a fetcher that stops leaves nothing, and begins nothing")
    func stopped() throws {
        let servers = try HostileServers()
        _ = try servers.fetch(servers.relay("png"))
        #expect(servers.filesOnDisk.count == 1)
        servers.fetcher.stop()
        #expect(servers.filesOnDisk == [])
        servers.begin([Attachment(url: servers.relay("png"))], for: "t2")
        #expect(servers.filesOnDisk == [] && !servers.hasAnswer)
    }

    @Test("more messages than workers are all answered")
    func many() throws {
        let servers = try HostileServers()
        let answers = Signal()
        for number in 0..<30 {
            servers.fetcher.fetch([Attachment(url: servers.relay("png"))], for: TurnID("t\(number)")) { fetched in
                if Self.file(fetched.first?.outcome) != nil { answers.raise() }
            }
        }
        #expect(answers.wait(times: 30))
        #expect(servers.filesOnDisk.count == 30)
    }
}
