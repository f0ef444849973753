import RelayRules
import Sealing
import Testing
import Vocabulary

@testable import BridgeService
@testable import Worlds

/// Files that the agent's tools touch, from the call to the phone.
@Suite("The file viewer")
struct FileViewerTests {
    private static func script(_ commands: String...) -> GatewayScript {
        var script = GatewayScript((20, .says("I write. ")), (50, .says("Now.")))
        for (index, command) in commands.enumerated() {
            script.steps.append(.init(after: .milliseconds(100), step: .callsTool(id: "t\(index)", command: command)))
            script.steps.append(.init(after: .milliseconds(100), step: .toolReturns(id: "t\(index)", output: "ok")))
        }
        script.steps.append(.init(after: .milliseconds(50), step: .says("Done.")))
        script.steps.append(.init(after: .milliseconds(50), step: .finishes))
        return script
    }

    private static func world(_ commands: String..., sealed: Bool = false) -> LiveWorld {
        let world = LiveWorld(.e4, scripts: [:])
        var script = Self.script()
        script.steps = commands.flatMap { Self.script($0).steps.dropLast(2) } + Self.script().steps.suffix(2)
        for index in script.steps.indices {
            // Each call gets a name of its own.
            switch script.steps[index].step {
            case .callsTool(_, let command): script.steps[index].step = .callsTool(id: command, command: command)
            case .toolReturns(_, let output):
                guard case .callsTool(let id, _) = script.steps[index - 1].step else { break }
                script.steps[index].step = .toolReturns(id: id, output: output)
            default: break
            }
        }
        world.sides[0].gives(script, to: "Go.")
        if sealed {
            world.seals = true
            world.sealing.pairedAt = world.time.wallMilliseconds
        }
        world.sides[0].agentFiles.files = [
            "/garden/a.txt": Array("hello".utf8), "/garden/b": Array("b".utf8), "/etc/shadow": [1],
        ]
        return world
    }

    /// Files as the relay lists them for the phone.
    private static func announced(_ world: LiveWorld, chat: Int = 0) -> [GatewayValue] {
        guard let session = world.chats[chat] else { return [] }
        let side = world.sides[0]
        let answer = side.relay.respond(
            to: RawRequest(
                method: "GET", target: "/v1/me/sessions/\(session)/files",
                headers: [RawHeader("Authorization", "Bearer \(RelayOptions().userToken)")]), at: side.moment)
        return GatewayValue.parse(answer.response.body)?["result"]?["files"]?.elements ?? []
    }

    /// The viewer's answer to a request, in words.
    private static func reads(_ world: LiveWorld, _ request: FileRequest) -> String {
        let said = Said()
        _ = world.ask { $0.files?.viewer?.read(request) { said.reply = $0 } }
        pass(world, 5)
        switch said.reply {
        case .shown(let file, let sealed):
            return "\(String(decoding: file.bytes, as: UTF8.self))\(sealed == nil ? "" : " sealed")"
        case .refused(let refusal): return refusal.code
        case nil: return "nothing"
        }
    }

    /// Advances time by these seconds, whatever is answered.
    private static func pass(_ world: LiveWorld, _ seconds: Int64) {
        let end = world.time.now + .seconds(seconds)
        while world.step(until: end) {}
    }

    private final class Said: @unchecked Sendable { var reply: FileReply? }

    @Test("a file that a tool has written is announced when the call has ended, and is read")
    func open() {
        let world = Self.world("write /garden/a.txt", "read /garden/none", "df -h")
        world.start()
        world.writes("Go.", after: .seconds(1))
        world.run()
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        let files = Self.announced(world)
        #expect(files.map { $0["path"]?.string } == ["/garden/a.txt"])
        #expect(files.first?["tool"]?.string == "write" && files.first?["display_name"]?.string == "a.txt")
        #expect(world.sides[0].agentFiles.asked == ["look /garden/a.txt", "look /garden/none"])
        #expect(Self.reads(world, .open(path: "/garden/a.txt", vouched: "/garden/a.txt")) == "hello")
        for path in ["/etc/shadow", "/garden/b", "/garden/../etc/shadow", "work/a.txt", ""] {
            #expect(Self.reads(world, .open(path: path, vouched: path)) == "forbidden", "\(path)")
            #expect(Self.reads(world, .open(path: "/garden/a.txt", vouched: path)) == "forbidden", "\(path)")
        }
        #expect(Self.reads(world, .malformed) == "invalid_request")
        // No unannounced file was read.
        #expect(world.sides[0].agentFiles.asked.filter { $0.hasPrefix("read") } == ["read /garden/a.txt"])
    }

    @Test("a link is announced as what it leads to, and each file once, however often it is touched")
    func resolved() {
        let world = Self.world("write /garden/a.txt", "edit /garden/link", "read /garden/a.txt")
        world.sides[0].agentFiles.links = ["/garden/link": "/garden/a.txt"]
        world.start()
        world.writes("Go.", after: .seconds(1))
        world.run()
        #expect(Self.announced(world).map { $0["path"]?.string } == ["/garden/a.txt"])
        #expect(Self.reads(world, .open(path: "/garden/link", vouched: "/garden/link")) == "forbidden")
    }

    @Test("in a sealed chat the relay reads neither its name nor what is in it")
    func sealed() throws {
        let world = Self.world("write /garden/a.txt", sealed: true)
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Go.", after: .seconds(1))
        world.run()
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        let chat = try #require(world.chats[0])
        let file = try #require(Self.announced(world).first)
        #expect(file["path"] == nil && file["display_name"] == nil)
        let index = try #require(BlindIndex(file["blind_idx"]?.string ?? ""))
        let path = try #require(file["path_ct"]?.string)
        #expect(phone.read(path, in: chat, .agentFile(index)) == "/garden/a.txt")
        #expect(phone.read(file["display_name_ct"]?.string ?? "", in: chat, .agentFile(index)) == "a.txt")
        let session = SessionID(chat)
        #expect(Self.reads(world, .sealed(session, index, path: path)) == "hello sealed")
        #expect(Self.reads(world, .open(path: "/garden/a.txt", vouched: "/garden/a.txt")) == "forbidden")
        #expect(Self.reads(world, .sealed(SessionID("ses_other"), index, path: path)) == "no_session_key")
        #expect(Self.reads(world, .sealed(session, index, path: "AA==")) == "crypto_failed")
        let other = try #require(BlindIndex(String(repeating: "a", count: 22)))
        #expect(Self.reads(world, .sealed(session, other, path: path)) == "crypto_failed")
    }

    @Test(
        "the next process reads what an earlier one announced, and a chat that is deleted is forgotten",
        arguments: [true, false])
    func nextProcess(isSealed: Bool) throws {
        let world = Self.world("write /garden/a.txt", sealed: isSealed)
        let phone = isSealed ? world.addsPhone() : nil
        world.start()
        if phone != nil {
            world.writesSealed("Go.", after: .seconds(1))
        } else {
            world.writes("Go.", after: .seconds(1))
        }
        world.run()
        world.restarts(down: .seconds(1))
        Self.pass(world, 10)
        let chat = try #require(world.chats[0])
        let file = try #require(Self.announced(world).first)
        let request: FileRequest =
            if isSealed {
                .sealed(
                    SessionID(chat), try #require(BlindIndex(file["blind_idx"]?.string ?? "")),
                    path: try #require(file["path_ct"]?.string))
            } else {
                .open(path: "/garden/a.txt", vouched: "/garden/a.txt")
            }
        #expect(Self.reads(world, request) == (isSealed ? "hello sealed" : "hello"))
        world.deletesChat(0, after: .seconds(1))
        Self.pass(world, 10)
        #expect(["forbidden", "no_session_key"].contains(Self.reads(world, request)))
    }

    private static let other = "inst_Simulator0000002:s_test_the_first_token_of_another_bridge"

    @Test("another installation gets nothing that was offered to the one before it", arguments: [true, false])
    func otherInstallation(isRunning: Bool) throws {
        let commands = (1...30).map { "write /garden/\($0)" }
        let world = Self.world("write /garden/a.txt")
        world.sides[0].gives(Self.writing(commands), to: "Go.")
        for number in 1...30 { world.sides[0].agentFiles.files["/garden/\(number)"] = [1] }
        world.relay.admit(token: Self.other)
        world.start()
        world.writes("Go.", after: .seconds(1))
        var tokens: Set<String> = []
        world.afterStep = { world in
            if let token = world.authorizations["notifyToolFile"] { tokens.insert(token) }
        }
        while world.callsMade["notifyToolFile", default: 0] < 3, world.step(until: world.time.now + .seconds(60)) {
            world.afterStep?(world)
        }
        #expect(Self.reads(world, .open(path: "/garden/1", vouched: "/garden/1")) == "\u{1}")
        if isRunning {
            world.use(Secret(Self.other), after: .seconds(1))
        } else {
            world.kill()
            world.token = Self.other
            world.start()
        }
        let end = world.time.now + .seconds(60)
        while world.step(until: end) { world.afterStep?(world) }
        #expect(tokens == ["Bearer \(RelayOptions().bridgeToken)"])
        #expect(Self.reads(world, .open(path: "/garden/1", vouched: "/garden/1")) == "forbidden")
        world.restarts(down: .seconds(1))
        Self.pass(world, 10)
        #expect(Self.reads(world, .open(path: "/garden/1", vouched: "/garden/1")) == "forbidden")
    }

    /// All calls begin at once, and end one right after another.
    private static func writing(_ commands: [String]) -> GatewayScript {
        var script = GatewayScript((20, .says("I write. ")))
        for command in commands {
            script.steps.append(.init(after: .milliseconds(5), step: .callsTool(id: command, command: command)))
            script.steps.append(.init(after: .milliseconds(5), step: .toolReturns(id: command, output: "ok")))
        }
        script.steps.append(.init(after: .milliseconds(50), step: .says("Done.")))
        script.steps.append(.init(after: .milliseconds(50), step: .finishes))
        return script
    }

    @Test("of a chat that is deleted while its files are being looked at nothing is announced or kept")
    func deletedMeanwhile() {
        let world = Self.world("write /garden/a.txt")
        world.sides[0].agentFiles.pace = .seconds(5)
        world.start()
        world.writes("Go.", after: .seconds(1))
        let end = world.time.now + .seconds(60)
        while world.sides[0].agentFiles.asked.isEmpty, world.step(until: end) {}
        #expect(world.sides[0].agentFiles.asked == ["look /garden/a.txt"])
        world.deletesChat(0, after: .milliseconds(1))
        Self.pass(world, 30)
        #expect(world.callsMade["notifyToolFile"] == nil)
        #expect(Self.reads(world, .open(path: "/garden/a.txt", vouched: "/garden/a.txt")) == "forbidden")
    }

    @Test("an announcement that the relay does not answer is made again, and one that it refuses is let go")
    func trouble() {
        for (kind, isThere) in [
            (Fault.Kind.replyLost, true), (.status(500, retryAfterMilliseconds: nil), true),
            (.refused(status: 403, code: "permission_denied"), false),
        ] {
            let world = Self.world("write /garden/a.txt")
            world.sides[0].relay.plan(Fault(kind, method: "notifyToolFile", count: 1))
            world.start()
            world.writes("Go.", after: .seconds(1))
            world.run()
            Self.pass(world, 30)
            #expect(Self.announced(world).isEmpty != isThere, "\(kind)")
            let notes = world.events.filter {
                if case .note(_, let words) = $0 { words.contains("refuses files") } else { false }
            }
            #expect(notes.isEmpty == isThere, "\(kind)")
        }
    }
}
