import AgentHosting
import AgentKit
import Locking
import Testing
import Vocabulary
import Worlds

@Suite("Children of several connections under one limit")
struct ChildPlacesTests {
    private let places = ChildPlaces(limit: 1)
    private let one: Stage
    private let two: Stage

    init() {
        one = Stage(places: places)
        two = Stage(places: places)
    }

    private func starts(_ stage: Stage, _ number: Int = 1) {
        stage.order(.open(ChannelID(number), Stage.child()))
    }

    @Test("over the limit a child waits, its machine hears of it, and it starts when the other one has ended")
    func waits() {
        starts(one)
        starts(two)
        #expect(one.programs.links.count == 1 && two.programs.links.isEmpty)
        #expect(two.told.last == "1 waits 1 []")
        one.programs.handlers[0](.exited(.exited(0), lastWords: ""))
        #expect(two.programs.links.count == 1)
        two.programs.handlers[0](.spawned(ProcessName(id: 5, startTicks: 1)))
        #expect(two.told.last == "1 spawned 5")
        two.order(.send(Stage.channel, Array("hello".utf8)))
        #expect(two.programs.links[0].log.count == 1)
    }

    @Test("an idle child is asked for its place; until it has ended the other one waits")
    func wanted() {
        starts(one)
        one.order(.idle(Stage.channel, true))
        one.answers("1 wanted", .close(Stage.channel, .input))
        starts(two)
        #expect(one.told.last == "1 wanted")
        #expect(one.programs.links[0].log == ["input"])
        #expect(two.programs.links.isEmpty)
        one.programs.handlers[0](.exited(.exited(0), lastWords: ""))
        #expect(two.programs.links.count == 1)
    }

    @Test("one that is idle later is asked then, one that is busy again keeps its place")
    func idleLater() {
        starts(one)
        starts(two)
        #expect(!one.told.contains("1 wanted"))
        one.answers("1 wanted", .idle(Stage.channel, false))
        one.order(.idle(Stage.channel, true))
        #expect(one.told.count { $0 == "1 wanted" } == 1)
        #expect(two.programs.links.isEmpty)
        one.order(.idle(Stage.channel, true))
        #expect(one.told.count { $0 == "1 wanted" } == 2)
    }

    @Test(
        "where all places are held by chats that wait for a person, who waits for one hears which, and when they go on")
    func heldUp() {
        places.use(limit: 2)
        let three = Stage(places: places)
        for stage in [one, two, three] { starts(stage) }
        #expect(three.told.last == "1 waits 2 []")
        one.order(.asks(Stage.channel, WaitingChat(SessionID("ses_1"), since: 9)))
        #expect(three.told.count { $0.hasPrefix("1 waits") } == 1, "the other one works")
        two.order(.asks(Stage.channel, WaitingChat(SessionID("ses_2"), since: 5)))
        #expect(three.told.last == #"1 waits 2 ["ses_2", "ses_1"]"#)
        let four = Stage(places: places)
        starts(four)
        #expect(four.told.last == #"1 waits 2 ["ses_2", "ses_1"]"#)
        one.order(.asks(Stage.channel, nil))
        #expect(three.told.last == "1 waits 2 []")
        two.programs.handlers[0](.exited(.exited(0), lastWords: ""))
        #expect(three.programs.links.count == 1)
    }

    @Test("a child that failed to start gives its place up")
    func failed() {
        starts(one)
        starts(two)
        one.programs.handlers[0](.failed(ChildFailure(.notFound, "no such program")))
        #expect(two.programs.links.count == 1)
    }

    @Test("a child that the machine has closed keeps its place until it has ended")
    func closed() {
        starts(one)
        one.order(.close(Stage.channel, .child(atOnce: true)))
        starts(two)
        #expect(two.programs.links.isEmpty)
        one.programs.handlers[0](.exited(.signalled(9), lastWords: ""))
        #expect(two.programs.links.count == 1)
    }

    @Test("a start that is called off while it waits never happens, and holds nothing up")
    func calledOff() {
        starts(one)
        starts(two)
        two.order(.close(Stage.channel, .child(atOnce: true)))
        #expect(two.link.isClosed)
        starts(two, 2)
        one.programs.handlers[0](.exited(.exited(0), lastWords: ""))
        #expect(two.programs.links.count == 1)
        two.programs.handlers[0](.line(Array("here".utf8)))
        #expect(two.told.last == "2: here")
    }

    @Test("a child is not started where its place gets free between the order to close it and its end")
    func closedAsPlaceIsFree() {
        starts(one)
        starts(two)
        let other = one.programs.handlers[0]
        two.onEvent.withLock { $0 = { other(.exited(.exited(0), lastWords: "")) } }
        two.order(.note(.words("now")), .close(Stage.channel, .child(atOnce: true)))
        #expect(two.programs.links.isEmpty)
        #expect(two.link.isClosed)
        two.onEvent.withLock { $0 = nil }
        // The place now belongs to another.
        let three = Stage(places: places)
        starts(three)
        #expect(three.programs.links.count == 1)
    }

    @Test("a connection that has stopped waits for no place")
    func stopped() {
        starts(one)
        starts(two)
        two.link.stop()
        one.programs.handlers[0](.exited(.exited(0), lastWords: ""))
        #expect(two.programs.links.isEmpty)
        let three = Stage(places: places)
        starts(three)
        #expect(three.programs.links.count == 1)
    }

    @Test("a child that outlives the bridge takes no place")
    func outlives() {
        one.order(.open(Stage.channel, Stage.child(.outlives)))
        starts(two)
        #expect(two.programs.links.count == 1)
    }

    @Test("another limit holds from now on")
    func otherLimit() {
        starts(one)
        starts(two)
        places.use(limit: 2)
        #expect(two.programs.links.count == 1)
    }
}
