import AgentHosting
import AgentKit
import Locking
import Testing
import Vocabulary
import Worlds

@Suite("The host of an agent's machine")
struct AgentRunnerTests {
    private let stage = Stage()

    // MARK: Channels

    @Test("orders are carried out in the order they were made, also when the channel speaks before it is known")
    func order() {
        stage.answers("1 opened", .send(Stage.channel, Array("hello".utf8)))
        stage.sockets.atOnce = .opened([])
        stage.order(.open(Stage.channel, Stage.socket), .send(Stage.channel, Array("first".utf8)))
        #expect(stage.sockets.links[0].log == ["send first", "send hello"])
        #expect(stage.recorded.withLock { $0 } == ["1 out first", "1 out hello"])
    }

    @Test("a channel that the machine has closed never speaks again, and its number may be opened anew")
    func closed() {
        stage.order(.open(Stage.channel, Stage.socket))
        stage.text("one")
        stage.order(.close(Stage.channel, .socket(code: 1000, reason: "")))
        stage.text("two")
        stage.sockets.handlers[0](.ping)
        stage.order(.open(Stage.channel, Stage.socket))
        stage.text("late", on: 0)
        stage.sockets.handlers[0](.closed(code: 1000, reason: "", byPeer: false))
        stage.text("three", on: 1)
        #expect(stage.told.filter { $0.contains(":") || $0.contains("closed") } == ["1: one", "1: three"])
        #expect(stage.sockets.links[0].log == ["close 1000"])
        #expect(!stage.link.isClosed)
    }

    @Test("a frame that comes between the machine's close and the socket's is not told")
    func closedInBetween() {
        stage.order(.open(Stage.channel, Stage.socket))
        stage.answers("1: one", .note(.words("busy")), .close(Stage.channel, .socket(code: 1000, reason: "")))
        // The socket is still open while the note is carried out.
        let (handler, link) = (stage.sockets.handlers[0], stage.sockets.links[0])
        stage.onEvent.withLock {
            $0 = {
                #expect(link.log == [])
                handler(.text(Array("two".utf8)))
            }
        }
        stage.text("one")
        #expect(link.log == ["close 1000"])
        #expect(stage.told.filter { $0.contains(":") } == ["1: one"])
    }

    @Test("several channels at once, sockets and children")
    func several() {
        stage.order(
            .open(ChannelID(1), Stage.socket), .open(ChannelID(2), Stage.child()), .open(ChannelID(3), Stage.socket))
        stage.text("a", on: 1)
        stage.programs.handlers[0](.line(Array("b".utf8)))
        stage.text("c", on: 0)
        stage.order(.send(ChannelID(2), Array("d".utf8)))
        #expect(stage.told.filter { $0.contains(":") } == ["3: a", "2: b", "1: c"])
        #expect(stage.programs.links[0].log == [#"send "d\n" -"#])
    }

    @Test("a socket's plan arrives whole")
    func plan() {
        var plan = SocketPlan(url: "wss://agent.example")
        plan.headers = [HTTPHeader("A", "b")]
        plan.trust = Trust(.authority(file: "/ca.pem"))
        plan.messageLimit = 5
        stage.order(.open(Stage.channel, .socket(plan)))
        let request = stage.sockets.requests[0]
        #expect(request.url == "wss://agent.example" && request.headers == plan.headers)
        #expect(request.authorityFile == "/ca.pem" && request.messageLimit == 5)
        plan.trust = Trust(.leaf([1, 2]), listener: .any)
        plan.unixPath = "/run/agent"
        stage.order(.open(ChannelID(2), .socket(plan)))
        #expect(stage.sockets.requests[1].leafPin == [1, 2] && stage.sockets.requests[1].unixPath == "/run/agent")
    }

    // MARK: Children

    @Test("a child is written down before it runs, and forgotten after its end")
    func writtenDown() {
        stage.order(.open(Stage.channel, Stage.child()))
        #expect(
            stage.journal.entries == [.setting(name: "agent toy process 1 7", value: Array("with_bridge toy".utf8))])
        #expect(stage.journal.durabilities == [.synced])
        #expect(stage.programs.released == [true])
        stage.programs.handlers[0](.spawned(ProcessName(id: 1, startTicks: 7)))
        stage.programs.handlers[0](.exited(.exited(3), lastWords: ""))
        #expect(stage.journal.entries.last == .setting(name: "agent toy process 1 7", value: nil))
        #expect(stage.told.suffix(2) == ["1 spawned 1", "1 exited 3"])
    }

    @Test("a child that cannot be written down does not run")
    func notWrittenDown() {
        stage.journal.failure = JournalFailure(.full, "full")
        stage.order(.open(Stage.channel, Stage.child()))
        #expect(stage.programs.released == [false])
        stage.programs.handlers[0](.failed(ChildFailure(.calledOff, "the start was called off")))
        #expect(
            stage.told.last
                == #"1 failed(message: "the journal cannot be written: full", AgentKit.ChannelFault.unknown)"#)
    }

    @Test("children of an earlier process are given to the machine, and forgotten once they have ended")
    func left() {
        var past = AgentPast()
        past.facts = [Fact("agent toy process 12 7", []), Fact("agent toy process 13 7", [])]
        stage.link.begin(past)
        #expect(stage.told.last == "begin [] [12, 13]")
        stage.works.open[0](.alive([ProcessName(id: 13, startTicks: 7)]))
        #expect(stage.journal.entries == [.setting(name: "agent toy process 12 7", value: nil)])
    }

    @Test("a command that comes before the past follows it")
    func early() {
        stage.link.command(.abort(session: AgentSession("s"), run: RunID("r")))
        #expect(stage.told == [])
        stage.answers("begin [] []", .note(.words("begun")))
        stage.link.begin(AgentPast())
        stage.link.command(.abort(session: AgentSession("s"), run: RunID("q")))
        #expect(stage.told == ["begin [] []", "command", "command"])
    }

    @Test("a command is taken until the link closes")
    func taken() {
        let command = AgentCommand.abort(session: AgentSession("s"), run: RunID("r"))
        #expect(stage.link.command(command))
        stage.link.begin(AgentPast())
        #expect(stage.link.command(command))
        stage.link.shutDown()
        #expect(!stage.link.command(command))
    }

    @Test("what was promised of a send is answered once: written, or not any more")
    func telling() {
        stage.order(
            .open(Stage.channel, Stage.child()), .send(Stage.channel, [65], telling: WorkID(5)),
            .send(Stage.channel, [66], telling: WorkID(6)))
        stage.programs.handlers[0](.written(5))
        stage.programs.handlers[0](.written(5))
        stage.programs.handlers[0](.exited(.exited(0), lastWords: ""))
        stage.programs.handlers[0](.written(6))
        #expect(stage.told.filter { $0.hasPrefix("work") } == ["work 5", "work 6 failed: unreachable"])
        stage.order(.send(Stage.channel, [67], telling: WorkID(7)))
        #expect(stage.told.last == "work 7 failed: unreachable")
    }

    @Test("a child that does not read is ended, as a socket would be")
    func deaf() {
        stage.order(.open(Stage.channel, Stage.child()))
        stage.programs.links[0].isFull = true
        stage.order(.send(Stage.channel, [65]))
        #expect(stage.programs.links[0].log == ["kill"])
    }

    @Test("after the end of its input a child still speaks, and nothing more is sent")
    func input() {
        stage.order(.open(Stage.channel, Stage.child()), .close(Stage.channel, .input), .send(Stage.channel, [65]))
        stage.programs.handlers[0](.line([66]))
        #expect(stage.programs.links[0].log == ["input"])
        #expect(stage.told.last == "1: B")
    }

    // MARK: Work

    @Test("a work's result comes once, whatever its port does")
    func once() {
        stage.order(.work(WorkID(1), .find(pattern: "/x", limit: 1)))
        stage.works.open[0](.found([]))
        stage.works.open[0](.found([]))
        stage.clock.pass(.seconds(60))
        #expect(stage.told.filter { $0.hasPrefix("work") } == ["work 1"])
    }

    @Test("a work without a result fails when its time is over, and its late result is dropped")
    func late() {
        stage.order(.work(WorkID(1), .find(pattern: "/x", limit: 1)))
        stage.clock.pass(.seconds(31))
        stage.works.open[0](.found([]))
        #expect(stage.told.filter { $0.hasPrefix("work") } == ["work 1 failed: timedOut"])
    }

    @Test("a lock that is had only when its time is over is released at once, since no one knows of it")
    func lateLock() throws {
        stage.order(.work(WorkID(1), .lock(path: "/l")))
        stage.clock.pass(.seconds(31))
        #expect(stage.told.filter { $0.hasPrefix("work") } == ["work 1 failed: timedOut"])
        stage.works.open[0](.done)
        try #require(stage.works.ordered == ["lock /l", "unlock /l"])
        stage.works.open[1](.done)
        // A lock that is refused then belongs to nobody here.
        stage.order(.work(WorkID(2), .lock(path: "/l")))
        stage.clock.pass(.seconds(31))
        stage.works.open[2](.failed(WorkFailure(.full, "/l is locked")))
        #expect(stage.works.ordered == ["lock /l", "unlock /l", "lock /l"])
        #expect(stage.told.count { $0.hasPrefix("work") } == 2)
    }

    @Test("works that never come back are bounded: then no other begins until one of them has")
    func stuck() throws {
        for round in 0..<4 {
            for number in 0..<16 {
                stage.order(.work(WorkID(round * 16 + number), .find(pattern: "/x", limit: 1)))
            }
            stage.clock.pass(.seconds(31))
        }
        try #require(stage.works.open.count == 64)
        stage.order(.work(WorkID(80), .find(pattern: "/x", limit: 1)))
        try #require(stage.works.open.count == 64 && stage.told.last == "work 80 failed: full")
        for number in 0..<32 { stage.works.open[number](.found([])) }
        stage.order(.work(WorkID(81), .find(pattern: "/x", limit: 1)))
        stage.works.open[64](.found([]))
        #expect(stage.told.last == "work 81")
    }

    @Test("16 are under way, 64 wait, and the next is refused")
    func bounded() {
        for number in 0..<81 { stage.order(.work(WorkID(number), .find(pattern: "/x", limit: 1))) }
        #expect(stage.works.open.count == 16)
        #expect(stage.told.filter { $0.hasPrefix("work") } == ["work 80 failed: full"])
        stage.works.open[0](.found([]))
        #expect(stage.works.open.count == 17)
        for number in 1..<80 { stage.works.open[number](.found([])) }
        #expect(stage.told.count { $0.hasPrefix("work") } == 81)
    }

    @Test("facts go to the journal, synced, under the agent's name, and come back at the start")
    func facts() {
        stage.order(.work(WorkID(1), .keep([Fact("chat a", [1]), Fact("chat b", nil)])))
        #expect(
            stage.journal.entries == [
                .setting(name: "agent toy chat a", value: [1]), .setting(name: "agent toy chat b", value: nil),
            ])
        #expect(stage.journal.durabilities == [.synced] && stage.told.last == "work 1")
        stage.journal.failure = JournalFailure(.full, "full")
        stage.order(.work(WorkID(2), .keep([Fact("chat a", [2])])))
        #expect(stage.told.last == "work 2 failed: other")
        var past = AgentPast()
        past.facts = [
            Fact("agent toy chat a", [1]), Fact("agent toy process 12 7", []), Fact("agent other chat a", [2]),
            Fact("installation", [3]), Fact("agent toy process x 7", []),
        ]
        stage.link.begin(past)
        #expect(stage.told.last == #"begin ["chat a", "process x 7"] [12]"#)
    }

    @Test("without a journal nothing is kept")
    func doctor() {
        let stage = Stage(hasJournal: false)
        stage.order(.work(WorkID(1), .keep([Fact("a", [1])])))
        #expect(stage.told.last == "work 1 failed: forbidden")
    }

    // MARK: Queries, settings, secrets

    @Test("a query is answered once: by the machine, by its deadline, or by the end of the process")
    func queries() {
        let replies = Stage.replies()
        stage.answers("query 1", .replied(QueryID(1), .models([])), .replied(QueryID(1), .models([])))
        for _ in 0..<3 { stage.link.query(.models) { reply in replies.withLock { $0.append(reply) } } }
        #expect(replies.withLock { $0 } == [.models([])])
        stage.clock.pass(.seconds(31))
        #expect(replies.withLock { $0.count } == 3)
        stage.link.query(.models) { reply in replies.withLock { $0.append(reply) } }
        stage.link.stop()
        #expect(replies.withLock { $0.last } == .refused(message: "the bridge stops"))
        stage.link.query(.models) { reply in replies.withLock { $0.append(reply) } }
        #expect(replies.withLock { $0.count } == 5)
    }

    @Test("settings are read anew when the machine or a person asks, and used where they can be read")
    func settings() {
        stage.order(.readSettings)
        #expect(stage.told.last == "slept")
        stage.settings.withLock { $0 = "new" }
        stage.order(.cover(Secret("s")), .readSettings)
        #expect(stage.told.last == "use new")
        #expect(stage.covered.withLock { $0 } == [Secret("s")])
        stage.link.renew()
        #expect(stage.told.suffix(2) == ["use new", "use new"])
    }

    // MARK: Time and back-pressure

    @Test("the alarm rings for the machine's deadline")
    func alarm() {
        stage.script.deadline = .zero + .seconds(5)
        stage.order()
        #expect(stage.clock.alarm == .zero + .seconds(5))
        stage.clock.pass(.seconds(5))
        #expect(stage.told.last == "time" && stage.clock.alarm == nil)
    }

    @Test("a deadline that the machine leaves behind when it has come does not ring without pause")
    func leftDeadline() {
        stage.script.deadline = .zero + .seconds(5)
        stage.script.keepsDeadline = true
        stage.order()
        stage.clock.pass(.seconds(5))
        #expect(stage.clock.alarm == .zero + .milliseconds(5_100))
        // An event in between changes nothing.
        stage.order()
        #expect(stage.clock.alarm == .zero + .milliseconds(5_100))
        stage.script.deadline = .zero + .milliseconds(5_010)
        stage.order()
        #expect(stage.clock.alarm == .zero + .milliseconds(5_010))
    }

    @Test("reading stops where the machine allows it, and goes on")
    func held() {
        stage.order(
            .open(ChannelID(1), Stage.socket), .open(ChannelID(2), Stage.child()), .mayPause(ChannelID(1), true))
        stage.link.holdReading(true)
        #expect(stage.sockets.links[0].log == ["pause"] && stage.programs.links[0].log == [])
        stage.order(.mayPause(ChannelID(2), true))
        #expect(stage.programs.links[0].log == ["pause"])
        stage.link.holdReading(false)
        #expect(
            stage.sockets.links[0].log == ["pause", "resume"] && stage.programs.links[0].log == ["pause", "resume"])
    }

    @Test("while nothing is read the reading clock stands, and its deadlines alone come that much later")
    func readingClock() {
        let second = { (number: Int64) in Instant.zero + .seconds(number) }
        stage.order(.open(ChannelID(1), Stage.socket), .mayPause(ChannelID(1), true))
        stage.script.readingDeadline = second(5)
        stage.script.keepsDeadline = true
        stage.order()
        #expect(stage.clock.alarm == second(5))
        stage.clock.pass(.seconds(2))
        stage.link.holdReading(true)
        #expect(stage.clock.alarm == nil)
        stage.script.deadline = second(40)
        stage.order()
        #expect(stage.clock.alarm == second(40))
        stage.clock.pass(.seconds(10))
        stage.order()
        #expect(stage.script.read == second(2) && !stage.told.contains("time"))
        stage.link.holdReading(false)
        #expect(stage.clock.alarm == second(15))
        stage.clock.pass(.seconds(1))
        stage.order()
        #expect(stage.script.read == second(3))
    }

    @Test("a channel that ends while it is not read stops no clock")
    func endsUnread() {
        stage.order(.open(ChannelID(1), Stage.socket), .mayPause(ChannelID(1), true))
        stage.link.holdReading(true)
        stage.sockets.handlers[0](.closed(code: 1006, reason: "", byPeer: true))
        stage.clock.pass(.seconds(5))
        stage.order()
        #expect(stage.script.read == .zero + .seconds(5))
    }

    // MARK: The end

    @Test("children end by the machine's word, and it is closed when nothing is open")
    func shutDown() {
        stage.answers(
            "shutDown", .close(ChannelID(1), .child(atOnce: false)),
            .close(ChannelID(2), .socket(code: 1000, reason: "")))
        stage.order(
            .open(ChannelID(1), Stage.child()), .open(ChannelID(2), Stage.socket),
            .open(ChannelID(3), Stage.child(.outlives)))
        stage.link.shutDown()
        #expect(stage.programs.links.map(\.log) == [["end"], []])
        #expect(!stage.link.isClosed)
        stage.sockets.handlers[0](.closed(code: 1000, reason: "", byPeer: false))
        #expect(!stage.link.isClosed)
        stage.programs.handlers[0](.exited(.exited(0), lastWords: ""))
        #expect(stage.link.isClosed)
        stage.link.command(.abort(session: AgentSession("s"), run: RunID("r")))
        stage.order(.open(ChannelID(9), Stage.socket))
        #expect(stage.told.last == "slept" && stage.sockets.links.count == 1)
    }

    @Test("what is being written holds up the end, and what is only looked at does not")
    func writing() {
        stage.order(.work(WorkID(1), .find(pattern: "/x", limit: 1)), .work(WorkID(2), .keepSecret(name: "t", nil)))
        stage.link.shutDown()
        #expect(!stage.link.isClosed)
        stage.works.open[1](.done)
        #expect(stage.link.isClosed)
    }

    @Test("stop cuts all that ends with the bridge, and nothing is told any more")
    func stop() {
        stage.order(
            .open(ChannelID(1), Stage.socket), .open(ChannelID(2), Stage.child()),
            .open(ChannelID(3), Stage.child(.byItself(grace: .zero))), .open(ChannelID(4), Stage.child(.outlives)))
        stage.link.stop()
        #expect(stage.sockets.links[0].log == ["cut"])
        #expect(stage.programs.links.map(\.log) == [["kill"], ["input"], []])
        stage.text("late")
        stage.programs.handlers[0](.exited(.signalled(9), lastWords: ""))
        stage.link.slept()
        #expect(stage.told == ["slept"])
    }
}
