import AgentKit
import Testing
import Vocabulary

@Suite("What an agent takes of a message's files")
struct FileRulesTests {
    static func file(_ name: String, _ size: Int, _ type: String = "application/pdf") -> MessageFile {
        MessageFile(name: name, mimeType: type, path: "/files/\(name)", size: size)
    }

    @Test("is what its limits allow, in order, and what a message has room for")
    func limits() {
        let rules = FileRules(fileLimit: 1_000_000, pictureLimit: 500, room: 2_000_000)
        let (taken, missing) = rules.sort([
            Self.file("big", 1_000_001), Self.file("a", 1_000_000), Self.file("photo", 501, "image/jpeg"),
            Self.file("b", 600_000), Self.file("c", 400_000), Self.file("d", 100_000),
        ])
        #expect(taken.map(\.name) == ["a", "c"])
        #expect(
            missing.map(\.sentence) == [
                "big was not passed on: the agent takes files of up to 1 MB.",
                "photo was not passed on: the agent takes pictures of up to 0 KB.",
                "b was not passed on: a message to the agent has no room for it.",
                "d was not passed on: a message to the agent has no room for it.",
            ])
    }

    @Test("is pictures alone where it sees and does not read")
    func pictures() {
        let rules = FileRules(picturesAlone: "it takes pictures alone", fileLimit: 0, pictureLimit: 10, room: 100)
        let (taken, missing) = rules.sort([
            Self.file("a", 1), Self.file("b", 1, "image/webp"), Self.file("c", 1, "image/svg+xml"),
        ])
        #expect(taken.map(\.name) == ["b"])
        #expect(missing.map(\.name) == ["a", "c"])
    }
}

@Suite("Files read from the disk for a frame")
struct FileLoadsTests {
    private static func works(_ orders: [AgentOrder]) -> [(id: WorkID, path: String)] {
        orders.compactMap { order in
            guard case .work(let id, .read(let path, 0, _)) = order else { return nil }
            return (id, path)
        }
    }

    @Test("come one after another, and once, also of two messages")
    func order() throws {
        var loads = FileLoads()
        let files = [FileRulesTests.file("a", 1), FileRulesTests.file("b", 2)]
        let first = try #require(Self.works(loads.begin(RunID("r1"), files)).first)
        #expect(Self.works(loads.begin(RunID("r1"), files)).isEmpty, "they are being read")
        let other = try #require(Self.works(loads.begin(RunID("r2"), [FileRulesTests.file("c", 1)])).first)
        guard case .more(let orders) = loads.finished(first.id, .read([1], size: 1), at: .zero),
            let second = Self.works(orders).first
        else {
            Issue.record("no second file")
            return
        }
        #expect([first.path, second.path, other.path] == ["/files/a", "/files/b", "/files/c"])
        guard case .foreign = loads.finished(first.id, .done, at: .zero) else {
            Issue.record("answered twice")
            return
        }
        guard case .loaded(let loaded) = loads.finished(second.id, .read([2, 3], size: 2), at: .zero) else {
            Issue.record("not loaded")
            return
        }
        #expect(loaded.run == RunID("r1") && loaded.files.map(\.bytes) == [[1], [2, 3]] && loaded.missing.isEmpty)
        #expect(!Self.works(loads.begin(RunID("r1"), files)).isEmpty, "for another link they are read again")
    }

    @Test(
        "that are gone, or are not what they were, keep the message back",
        arguments: [
            WorkResult.failed(WorkFailure(.absent, "gone")), .read([1], size: 1), .read([1, 2, 3], size: 3), .done,
        ])
    func broken(result: WorkResult) throws {
        var loads = FileLoads()
        let work = try #require(Self.works(loads.begin(RunID("r1"), [FileRulesTests.file("a", 2)])).first)
        guard case .unreadable(RunID("r1"), let sentence) = loads.finished(work.id, result, at: .zero) else {
            Issue.record("it goes without its file")
            return
        }
        #expect(sentence.hasPrefix("The bridge could not read a from its disk"))
        #expect(loads.nextDeadline == nil)
    }

    @Test("that could not be read for want of room are tried again, five times in all", arguments: [2, 5])
    func again(failures: Int) throws {
        var loads = FileLoads()
        var work = try #require(Self.works(loads.begin(RunID("r1"), [FileRulesTests.file("a", 2)])).first)
        var now = Instant.zero
        for failure in 1...failures {
            let step = loads.finished(work.id, .failed(WorkFailure(.full, "busy")), at: now)
            if failure == 5 {
                guard case .unreadable = step else {
                    Issue.record("tried for ever")
                    return
                }
                return
            }
            #expect(loads.nextDeadline == now + .seconds(2) && Self.works(loads.timePassed(at: now)).isEmpty)
            now = now + .seconds(2)
            work = try #require(Self.works(loads.timePassed(at: now)).first)
            #expect(loads.nextDeadline == nil)
        }
        guard case .loaded(let loaded) = loads.finished(work.id, .read([1, 2], size: 2), at: now) else {
            Issue.record("not loaded")
            return
        }
        #expect(loaded.files.map(\.bytes) == [[1, 2]])
    }

    @Test("that were dropped are reported no more, also when they are asked for again")
    func dropped() throws {
        var loads = FileLoads()
        let files = [FileRulesTests.file("a", 1)]
        let first = try #require(Self.works(loads.begin(RunID("r1"), files)).first)
        loads.drop(RunID("r1"))
        let second = try #require(Self.works(loads.begin(RunID("r1"), files)).first)
        guard case .more(let orders) = loads.finished(first.id, .read([1], size: 1), at: .zero), orders.isEmpty else {
            Issue.record("what was dropped was taken")
            return
        }
        guard case .loaded = loads.finished(second.id, .read([2], size: 1), at: .zero) else {
            Issue.record("not loaded")
            return
        }
    }
}

@Suite("The form of a picture")
struct PictureShapeTests {
    private static func png(_ width: Int, _ height: Int = 10) -> [UInt8] {
        func four(_ number: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(number >> $0 & 0xFF) } }
        let header = four(13) + Array("IHDR".utf8) + four(width) + four(height) + [8, 6, 0, 0, 0] + four(0)
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + header + four(2) + Array("IDAT".utf8) + [1, 2]
            + four(0)
            + four(0) + Array("IEND".utf8) + four(0)
    }

    private static func jpeg(_ width: Int) -> [UInt8] {
        [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xC2, 0, 8, 8, 0, 16, UInt8(width >> 8), UInt8(width & 0xFF), 1]
            + [0xFF, 0xDA, 0, 2, 1, 0xFF, 0, 2, 0xFF, 0xD9]
    }

    private static func gif(_ width: Int) -> [UInt8] {
        Array("GIF89a".utf8) + [UInt8(width & 0xFF), UInt8(width >> 8), 16, 0]
    }

    private static func webp(_ width: Int) -> [UInt8] {
        let size = [UInt8((width - 1) & 0xFF), UInt8((width - 1) >> 8), 0, 15, 0, 0]
        return Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0] + size
    }

    /// Reason why one picture does not go along, once read.
    private static func problem(_ bytes: [UInt8]) -> String? {
        let file = MessageFile(name: "a", mimeType: "image/png", path: "/files/1", size: bytes.count)
        var message = UserMessage(id: MessageID("m"), session: SessionID("s"), interaction: nil, text: "Look.")
        var attachment = Attachment(name: "a")
        attachment.outcome = .file(file)
        message.attachments = [attachment]
        var (prompt, _) = PicturePrompt.of(message, for: "it", room: 1_000_000)
        var loaded = FileLoads.Loaded(run: RunID("r1"))
        loaded.files = [LoadedFile(file, bytes)]
        let leftOut = prompt.take(loaded)
        #expect(prompt.loaded.isEmpty == !leftOut.isEmpty && prompt.isReady)
        return leftOut.first?.problem
    }

    @Test("says whether a model's provider would refuse it, now and with every later prompt")
    func limits() {
        let wide = "was not passed on: the agent takes pictures of up to 8000 pixels in width and height"
        for make in [{ Self.png($0) }, Self.jpeg, Self.gif, Self.webp] {
            #expect(Self.problem(make(8_000)) == nil)
            #expect(Self.problem(make(8_001)) == wide)
        }
        #expect(Self.problem(Self.png(10, 9_000)) == wide)
    }

    @Test("shows that it was cut off, wherever that was")
    func damaged() {
        let damaged = "was not passed on: the picture is damaged"
        for count in [8, 20, 40, Self.png(10).count - 1] {
            #expect(Self.problem(Array(Self.png(10).prefix(count))) == damaged, "\(count)")
        }
        for count in [4, 9, 20, Self.jpeg(10).count - 1] {
            #expect(Self.problem(Array(Self.jpeg(10).prefix(count))) == damaged, "\(count)")
        }
        #expect(Self.problem(Array(Self.webp(10).dropLast())) == damaged)
        #expect(Self.problem(Self.jpeg(10) + Array(repeating: 7, count: 100)) == nil, "cameras add things behind it")
    }
}

@Suite("A prompt with notes about files")
struct PromptTextTests {
    @Test("is known again in the agent's history by what the person wrote")
    func known() {
        let noted = PromptText.noting([.notFetched("a.png", "no"), .notPassedOn("b.png", "no")], behind: "Look.")
        #expect(
            noted
                == "Look.\n\n[Not attached: a.png could not be fetched: no.]\n\n[Not attached: b.png was not passed on: no.]"
        )
        #expect(PromptText.isPrompt(noted, "Look.") && PromptText.isPrompt("Look.", "Look."))
        #expect(!PromptText.isPrompt("Look. There.", "Look.") && !PromptText.isPrompt("Loo", "Look."))
        #expect(PromptText.noting([], behind: "Look.") == "Look.")
    }

    @Test(
        "is known again whatever white space its end has, in the frame and in the history",
        arguments: ["Look", "Look ", "Look\n", "Look\r\n", " Look \n\n"])
    func spaces(asked: String) {
        let noted = PromptText.noting([.notFetched("a.png", "no")], behind: asked)
        let trimmed = "Look"
        #expect(PromptText.isPrompt(noted, asked))
        #expect(PromptText.isPrompt(noted.drop { $0.isWhitespace }, trimmed))
        #expect(PromptText.isPrompt("Look \n\n[Not attached: a.png could not be fetched: no.]", trimmed))
        #expect(!PromptText.isPrompt("Looks\n\n[Not attached: a.png could not be fetched: no.]", trimmed))
        #expect(!PromptText.isPrompt("Look[Not attached: a.png could not be fetched: no.]", trimmed))
    }
}
