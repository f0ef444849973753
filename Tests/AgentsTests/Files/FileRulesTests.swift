import AgentKit
import BridgeModel
import Testing

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
        guard case .more(let orders) = loads.finished(first.id, .read([1], size: 1)),
            let second = Self.works(orders).first
        else {
            Issue.record("no second file")
            return
        }
        #expect([first.path, second.path, other.path] == ["/files/a", "/files/b", "/files/c"])
        guard case .foreign = loads.finished(first.id, .done) else {
            Issue.record("answered twice")
            return
        }
        guard case .loaded(let loaded) = loads.finished(second.id, .read([2, 3], size: 2)) else {
            Issue.record("not loaded")
            return
        }
        #expect(loaded.run == RunID("r1") && loaded.files.map(\.bytes) == [[1], [2, 3]] && loaded.missing.isEmpty)
        #expect(!Self.works(loads.begin(RunID("r1"), files)).isEmpty, "for another link they are read again")
    }

    @Test(
        "that cannot be read, or are not what they were, are named",
        arguments: [
            WorkResult.failed(WorkFailure(.absent, "gone")), .read([1], size: 1), .read([1, 2, 3], size: 3), .done,
        ])
    func broken(result: WorkResult) throws {
        var loads = FileLoads()
        let work = try #require(Self.works(loads.begin(RunID("r1"), [FileRulesTests.file("a", 2)])).first)
        guard case .loaded(let loaded) = loads.finished(work.id, result) else {
            Issue.record("not loaded")
            return
        }
        #expect(loaded.files.isEmpty)
        #expect(loaded.missing.map(\.sentence) == ["a was not passed on: the bridge could not read it from its disk."])
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
}
