import AgentKit
import BridgeCore
import BridgeService
import Files
import FoundationEssentials
import Glibc
import Links
import Locking
import OpenClaw
import Sealing
import Testing
import Vocabulary
import Worlds

@Suite("The status")
struct StatusTests {
    private let clock = HandClock(now: Instant(nanoseconds: 1_000_000_000_000), wallMilliseconds: 1_000_000)
    private let name = ConnectionName("default")

    private func board() -> StatusBoard {
        StatusBoard(
            version: "1", pid: 7,
            connections: [
                Configuration.Connection(agent: AgentSettings(AgentKind(rawValue: "openclaw"), OpenClawValues()))
            ], clock: clock)
    }

    private func now(_ board: StatusBoard) -> BridgeStatus { board.status { _ in nil } }

    private func health(_ status: BridgeStatus?, isLocked: Bool = true, isWritable: Bool = true) -> [Health.Fault] {
        Health(
            status: status, isLocked: isLocked, isStateWritable: isWritable, wallMilliseconds: clock.wallMilliseconds
        ).findings.map(\.fault)
    }

    private func text(_ status: BridgeStatus, isRunning: Bool = true) -> String {
        StatusText.lines(status, isRunning: isRunning, wallMilliseconds: clock.wallMilliseconds)
            .joined(separator: "\n")
    }

    @Test("encrypted chats: what is held and what is pending has its remedy; where nothing is sealed nothing is said")
    func sealing() {
        let board = board()
        func said(_ figures: KeyRing.Figures, runs: Int = 0) -> String {
            text(
                board.status { _ in
                    nil
                } sealing: { _ in
                    var sealing = BridgeStatus.Sealing(encryption: "auto", figures)
                    sealing.runsWaiting = runs
                    return sealing
                })
        }
        #expect(!said(KeyRing.Figures()).contains("sealed"))
        var figures = KeyRing.Figures()
        (figures.isRegistered, figures.pinned, figures.held, figures.sealedChats) = (true, 1, 2, 3)
        #expect(said(figures).contains("sealed  3 chats, 1 device may read, 2 held; encryption is auto\n"))
        #expect(said(figures).contains("what to do: sophon-bridge devices list"))
        #expect(said(figures, runs: 4).contains("4 runs waiting for a phone that may read"))
        #expect(!said(figures).contains("another key"))
        figures.unheardChanges = 1
        #expect(said(figures).contains("1 chat has another key, since the relay says that a device was revoked; what"))
        board.tell(.keyFiles(name, .failed("cannot write x; make room")))
        #expect(said(figures).contains("the keys cannot be written: cannot write x"))
        board.tell(.keyFiles(name, .works))
        #expect(!said(figures).contains("          the keys cannot be written"))
        board.tell(.keys(name, .deviceHeld(NumberedDevice(id: DeviceID("d"), number: 2))))
        #expect(said(figures).contains("devices allow 2"))
    }

    @Test("a bridge with both links up is ready and healthy, and says to whom it is connected")
    func up() {
        let board = board()
        #expect(!now(board).ready)
        #expect(health(now(board)) == [.relay])
        board.tell(.relayConnected(name, installation: "inst_1", isReconnect: false))
        board.tell(.agentConnected(name, version: "2026.5.1", scopes: ["operator.read"], isReconnect: false))
        clock.pass(.seconds(300))
        board.tell(.turnBegan(name, TurnID("t"), SessionID("s")))
        let status = now(board)
        #expect(status.ready)
        #expect(health(status) == [])
        let text = text(status)
        #expect(text.contains("process 7, for 5 min: ready, as of "))
        #expect(text.contains("connected to openclaw 2026.5.1 for 5 min"))
        #expect(text.contains("as inst_1"))
    }

    @Test("a lost relay is said with since when, why, the next try and the remedy, and is not healthy")
    func lost() {
        let board = board()
        board.tell(.relayConnected(name, installation: nil, isReconnect: false))
        board.tell(.agentConnected(name, version: "1", scopes: nil, isReconnect: false))
        clock.pass(.seconds(10))
        board.tell(.relayLost(name, reason: "it fell silent", retryIn: .seconds(4), remedy: nil))
        clock.pass(.seconds(4))
        board.tell(
            .relayLost(name, reason: "no route", retryIn: .seconds(8), remedy: LinkRemedy("check the network")))
        clock.pass(.seconds(2))
        #expect(health(now(board)) == [.relay])
        #expect(
            text(now(board)).contains(
                "no connection to the relay for 6 s: no route; next try in 6 s; what to do: check the network"))
        board.tell(.relayConnected(name, installation: nil, isReconnect: true))
        #expect(health(now(board)) == [])
        #expect(!text(now(board)).contains("what to do"))
    }

    @Test("a lost agent leaves the bridge healthy, but not ready")
    func agentLost() {
        let board = board()
        board.tell(.relayConnected(name, installation: nil, isReconnect: false))
        board.tell(
            .agentLost(name, reason: "refused", retryIn: .seconds(4), remedy: LinkRemedy("start the gateway")))
        #expect(health(now(board)) == [])
        #expect(!now(board).ready)
        #expect(now(board).connections[0].agent.link.remedy == "start the gateway")
    }

    @Test("each link has its own remedy, that of its last loss")
    func remedies() {
        let board = board()
        board.tell(.agentLost(name, reason: "refused", retryIn: .seconds(60), remedy: LinkRemedy("approve it")))
        board.tell(.relayLost(name, reason: "HTTP 404", retryIn: .seconds(1), remedy: LinkRemedy("set the address")))
        #expect(now(board).connections[0].agent.link.remedy == "approve it")
        #expect(now(board).connections[0].relay.remedy == "set the address")
        board.tell(.relayLost(name, reason: "no route", retryIn: .seconds(1), remedy: nil))
        #expect(now(board).connections[0].relay.remedy == nil)
        #expect(now(board).connections[0].agent.link.remedy == "approve it")
        board.tell(.relayConnected(name, installation: nil, isReconnect: false))
        board.tell(.remedy(name, .agent, "grant more"))
        #expect(now(board).connections[0].relay.remedy == nil)
        #expect(now(board).connections[0].agent.link.remedy == "grant more")
    }

    @Test("a connection with another token is no longer given up")
    func mended() {
        let board = board()
        board.tell(.stopped(name, message: "no such token", remedy: "pair again", exitCode: .tokenRefused))
        board.tell(.mended(name))
        #expect(health(now(board)) == [.relay])
        #expect(!text(now(board)).contains("what to do"))
    }

    @Test("a refused token is told apart from a relay that is away")
    func stopped() {
        let board = board()
        board.tell(.stopped(name, message: "no such token", remedy: "pair again", exitCode: .tokenRefused))
        #expect(health(now(board)) == [.relayStopped])
        #expect(text(now(board)).contains("gave up on the relay 0 s ago: no such token; what to do: pair again"))
        #expect(now(board).connections[0].lastError?.message == "no such token")
    }

    @Test("a bridge that does not run, is silent or cannot write is not healthy")
    func unhealthy() {
        let board = board()
        board.tell(.relayConnected(name, installation: nil, isReconnect: false))
        let status = now(board)
        #expect(health(status, isLocked: false) == [.notRunning])
        #expect(health(nil) == [.stale])
        #expect(health(status, isWritable: false) == [.journal])
        clock.pass(.seconds(15))
        #expect(health(status) == [.stale])
        #expect(text(status, isRunning: false).contains("was heard 15 s ago"))
    }

    @Test("a journal that fails is told until it works again")
    func journal() {
        let board = board()
        board.tell(.relayConnected(name, installation: nil, isReconnect: false))
        board.tell(.journalFailed(name, JournalFailure(.full, "the disk is full")))
        #expect(health(now(board)) == [.journal])
        #expect(text(now(board)).contains("the disk is full"))
        board.tell(.journalWorks(ConnectionName("default")))
        #expect(health(now(board)) == [])
    }

    @Test("what nobody understood is counted by link and name, as it was told last")
    func unknown() {
        let board = board()
        var tally = UnknownTally()
        tally.count("frame", "novel")
        board.tell(.unknownFrames(name, link: "agent", tally))
        tally.count("frame", "novel")
        tally.countMalformed()
        board.tell(.unknownFrames(name, link: "agent", tally))
        #expect(now(board).connections[0].unknown == ["agent: frame novel": 2, "agent: malformed": 1])
    }

    @Test("what is on its way is asked for when it is written")
    func work() {
        var status = board().status { _ in
            var work = BridgeStatus.Work()
            (work.openTurns, work.waiting, work.callsUnderWay) = (1, 2, 3)
            work.tokens = ["msg": 7.5]
            return work
        }
        #expect(text(status).contains("1 turn open, 2 waiting, 3 calls under way\n"))
        #expect(text(status).contains("calls that the relay would take now: msg 7"))
        status.count(openTurns: [ConnectionName(status.connections[0].name): 4, ConnectionName("another"): 9])
        #expect(text(status).contains("4 turns open, 2 waiting"))
    }

    @Test("a bridge without work has no turns, and its buckets are full")
    func idle() {
        let bridge = Bridge()
        let work = BridgeStatus.Work(bridge.figures(at: .zero))
        #expect((work.openTurns, work.waiting, work.callsUnderWay, work.deadLetters) == (0, 0, 0, 0))
        #expect(work.tokens?.count == RelayBucket.allCases.count)
        #expect(work.tokens?.values.allSatisfy { $0 > 0 } == true)
    }

    @Test("the file is read as it was written, for the owner alone")
    func file() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "status-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(try StatusFile.read(in: directory) == nil)
        let board = board()
        board.tell(.agentConnected(name, version: "1", scopes: ["operator.read"], isReconnect: false))
        board.tell(.relayLost(name, reason: "\"no\"\n", retryIn: .seconds(1), remedy: nil))
        try StatusFile.write(now(board), in: directory)
        #expect(try StatusFile.read(in: directory) == now(board))
        var status = stat()
        #expect(stat(StatusFile.path(in: directory), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["status.json"])
        let text = String(decoding: StatusFile.bytes(of: now(board)), as: UTF8.self)
        #expect(text.contains(#""retry_at":1001000"#))
        #expect(text.contains(#""relay_address":"https://api.sophon.at""#))
    }

    @Test("a secret that an outside text repeats is not in the file, nor in any line that shares its cover")
    func secret() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "status-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let secrets = SecretCover()
        secrets.cover(Secret("inst_1:s_\"quoted\"_secret"))
        secrets.cover(Secret("short"))
        let board = board()
        board.tell(
            .relayLost(name, reason: "no inst_1:s_\"quoted\"_secret here", retryIn: .seconds(1), remedy: nil))
        try StatusFile.write(now(board), in: directory, hiding: secrets)
        #expect(try StatusFile.read(in: directory)?.connections[0].relay.reason == "no *** here")
        #expect(secrets.covered("a short inst_1:s_\"quoted\"_secret") == "a short ***")
        #expect(secrets.covered(JSONText.string("inst_1:s_\"quoted\"_secret!").text) == "\"***!\"")
    }

    @Test("a secret that is made known again stays covered, however many come after it")
    func secretInForce() {
        let secrets = SecretCover()
        let inForce = Secret("inst_1:s_in_force")
        for number in 0..<1_000 {
            if number % 400 == 0 { secrets.cover(inForce) }
            secrets.cover(Secret("inst_1:s_\(number)_other"))
        }
        #expect(secrets.covered(inForce.text) == "***")
    }

    @Test("a file with absurd numbers is shown and judged", arguments: [Int64.min, -1, Int64.max])
    func absurd(number: Int64) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "status-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let count = Int(number)
        var status = BridgeStatus(version: "1", pid: 7, started: number, ts: number)
        var connection = BridgeStatus.Connection(
            name: "default", relayAddress: "https://relay.example", agentKind: "openclaw", since: number)
        connection.relay.state = .waiting
        connection.relay.retryAt = number
        (connection.work.openTurns, connection.work.waiting, connection.work.callsUnderWay) = (count, count, count)
        (connection.work.deadLetters, connection.work.heldBytes, connection.work.isMemoryFull) = (count, count, true)
        connection.work.tokens = ["msg": Double(number), "delta": 1e300]
        connection.work.clockAheadSeconds = number
        connection.lastError = BridgeStatus.Trouble(at: number, message: "no")
        connection.chats = [.init(chat: "ses_1", state: "asks", since: number)]
        var sealing = BridgeStatus.Sealing(encryption: "auto", KeyRing.Figures())
        (sealing.sealedChats, sealing.devicesPinned, sealing.devicesHeld) = (count, count, count)
        (sealing.runsWaiting, sealing.messagesWaiting, sealing.keysChanged) = (count, count, count)
        connection.sealing = sealing
        status.connections = [connection]
        var text = String(decoding: StatusFile.bytes(of: status), as: UTF8.self)
        text.replace(
            #""name":"default""#,
            with: #""name":"default","asks":[{"agent":"a","cards":\#(number),"chat":"c","since":\#(number)}],"#
                + #""another_bridge":{"last":\#(number),"messages":\#(number)}"#)
        try PrivateFile.write(Array(text.utf8), to: StatusFile.path(in: directory))
        let read = try #require(try StatusFile.read(in: directory))
        #expect(read.connections[0].asks?.count == 1 && read.connections[0].anotherBridge?.last == number)
        #expect(health(read).contains(.relay))
        for isRunning in [false, true] {
            #expect(!self.text(read, isRunning: isRunning).isEmpty)
            let picture = TopPicture(width: 80, height: nil, hasColor: false)
            #expect(!picture.lines(read, isRunning: isRunning, wallMilliseconds: clock.wallMilliseconds).isEmpty)
        }
    }

    @Test("a journal that keeps its size is shown with the remedy")
    func journalRemedy() {
        let board = board()
        #expect(!text(now(board)).contains("keeps its size"))
        board.tell(journalRemedy: "make room and start again")
        #expect(text(now(board)).contains("the journal keeps its size: make room and start again"))
    }

    @Test("a file of something else is said with the remedy")
    func foreign() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "status-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try PrivateFile.write(Array("[]".utf8), to: StatusFile.path(in: directory))
        let error = #expect(throws: FileError.self) { try StatusFile.read(in: directory) }
        #expect(error?.message.contains("restart the bridge") == true)
    }

    @Test("ready is who has both links and a journal; each hindrance is a line in our own words")
    func hindrances() {
        let board = board()
        func lines(isWritable: Bool = true) -> [String] { Health.hindrances(now(board), isStateWritable: isWritable) }
        #expect(
            lines() == [
                "default: the link to the relay is down (connecting)",
                "default: the link to the agent is down (connecting)",
            ])
        board.tell(.relayConnected(name, installation: "inst_1", isReconnect: false))
        board.tell(.agentConnected(name, version: "1", scopes: nil, isReconnect: false))
        #expect(lines().isEmpty)
        #expect(lines(isWritable: false) == ["the journal cannot be written"])
        board.tell(.agentLost(name, reason: "ses_secret says no", retryIn: .seconds(1), remedy: nil))
        #expect(lines() == ["default: the link to the agent is down (waiting)"])
        board.tell(.stopped(name, message: "revoked", remedy: "pair", exitCode: .tokenRefused))
        board.tell(.journalFailed(name, JournalFailure(.full, "no room")))
        #expect(
            lines() == [
                "the journal cannot be written", "default: the link to the relay is down (stopped)",
                "default: the link to the agent is down (waiting)",
            ])
    }
}
