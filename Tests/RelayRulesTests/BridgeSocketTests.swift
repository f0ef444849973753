import RelayRules
import Testing

/// The bridge's socket as conversations; relay.md#the-bridge-websocket.
@Suite struct BridgeSocketTests {
    // MARK: Opening

    @Test func whoHasNoGoodTokenIsRefused() {
        var desk = SocketDesk()
        #expect(desk.upgradeStatus() == 101)
        #expect(desk.upgradeStatus(token: "wrong") == 401)
        #expect(desk.upgradeStatus(query: "?token=\(RelayOptions().bridgeToken)") == 400)
        #expect(desk.relay.breaches.map(\.code) == [.badToken, .tokenInURL])
        #expect(desk.relay.breaches.allSatisfy { !$0.method.contains(":s_test_") })
    }

    @Test func readyComesFirstAndThenWhatHasWaited() {
        var desk = SocketDesk()
        let session = desk.relay.userSends(text: "one", session: nil, at: desk.at).session
        let socket = desk.open()
        #expect(desk.heard() == ["ready", "update 1"])
        desk.say(#"{"type":"hello","version":"0.13.7"}"#, on: socket)
        _ = desk.relay.userSends(text: "two", session: session, at: desk.at)
        #expect(desk.heard() == ["update 2"])
        #expect(desk.relay.socketReports.map(\.version) == ["0.13.7"])
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func theBacklogMayBeAskedForFromAnId() {
        var desk = SocketDesk()
        for _ in 0..<3 { _ = desk.relay.userSends(text: "x", session: nil, at: desk.at) }
        _ = desk.open(query: "?since_update_id=2")
        #expect(desk.heard() == ["ready", "update 3"])
    }

    @Test func aNewSocketTakesThePlaceOfTheOld() {
        var desk = SocketDesk()
        let old = desk.open()
        _ = desk.heard()
        let new = desk.open()
        #expect(desk.heard(on: old) == ["close 4000"])
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.heard(on: old) == [], "nothing follows a close")
        desk.relay.socketEnded(old)
        #expect(desk.relay.socketReports.map(\.socket) == [new])
    }

    @Test func twoBridgesOnOneTokenMayBothHearWhereThatIsWanted() {
        var desk = SocketDesk { $0.socket.newcomer = .joins }
        let first = desk.open()
        _ = desk.open()
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.heard() == ["ready", "ready", "update 1", "update 1"])
        desk.say(#"{"type":"ack","up_to_update_id":"1"}"#, on: first)
        desk.pass(seconds: 6)
        #expect(desk.heard() == [])
    }

    @Test func thereIsABoundToSockets() {
        var desk = SocketDesk { $0.socket.newcomer = .joins }
        for _ in 0..<16 { _ = desk.open() }
        #expect(desk.upgradeStatus() == 503)
    }

    // MARK: Heartbeat

    @Test func pingsComeEvery25SecondsAndPongsKeepTheSocket() {
        var desk = SocketDesk()
        let socket = desk.open()
        #expect(desk.heard() == ["ready"])
        for _ in 0..<10 {
            desk.pass(seconds: 24)
            #expect(desk.heard() == [])
            desk.pass(seconds: 1)
            #expect(desk.heard() == ["ping"])
            desk.say(#"{"type":"pong"}"#, on: socket)
        }
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func threeMissedPongsCloseWith4001() {
        var desk = SocketDesk()
        _ = desk.open()
        _ = desk.heard()
        for _ in 0..<2 {
            desk.pass(seconds: 25)
            #expect(desk.heard() == ["ping"])
        }
        desk.pass(seconds: 25)
        #expect(desk.heard() == ["ping"])
        desk.pass(seconds: 10)
        #expect(desk.heard() == ["close 4001"])
        #expect(desk.relay.breaches.map(\.code) == [.missedPong, .missedPong, .missedPong])
        #expect(desk.relay.breaches.first?.request == "upgrade")
    }

    @Test func aPongInBetweenStartsTheCountAnew() {
        var desk = SocketDesk()
        let socket = desk.open()
        for _ in 0..<3 {
            desk.pass(seconds: 25)
            desk.pass(seconds: 11)
            desk.pass(seconds: 14)
            desk.pass(seconds: 2)
            desk.say(#"{"type":"pong"}"#, on: socket)
        }
        #expect(!desk.heard().contains("close 4001"))
    }

    @Test func aClockPutBackDoesNotSilenceThePings() {
        var desk = SocketDesk()
        _ = desk.open()
        desk.pass(seconds: -3_600)
        desk.pass(seconds: 25)
        #expect(desk.heard() == ["ready", "ping"])
    }

    @Test func aPingOfTheBridgeIsAnswered() {
        var desk = SocketDesk()
        let socket = desk.open()
        desk.say(#"{"type":"ping"}"#, on: socket)
        #expect(desk.heard() == ["ready", "pong"])
    }

    // MARK: Acknowledgement

    @Test func whatIsNotAcknowledgedComesAgainEvery5Seconds() {
        var desk = SocketDesk()
        let socket = desk.open()
        for _ in 0..<3 { _ = desk.relay.userSends(text: "x", session: nil, at: desk.at) }
        #expect(desk.heard() == ["ready", "update 1", "update 2", "update 3"])
        desk.pass(seconds: 4)
        #expect(desk.heard() == [])
        desk.pass(seconds: 1)
        #expect(desk.heard() == ["update 1", "update 2", "update 3"])
        desk.say(#"{"type":"ack","up_to_update_id":"2"}"#, on: socket)
        desk.pass(seconds: 5)
        #expect(desk.heard() == ["update 3"])
        desk.say(#"{"type":"ack","up_to_update_id":"2"}"#, on: socket)
        desk.say(#"{"type":"ack","up_to_update_id":3}"#, on: socket)
        desk.pass(seconds: 5)
        #expect(desk.heard() == [])
        #expect(desk.relay.breaches.isEmpty, "an ack may come twice, and ids may be numbers")
    }

    @Test func anUnacknowledgedUpdateComesAgainAfterAReconnect() {
        var desk = SocketDesk()
        let first = desk.open()
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        desk.relay.socketEnded(first)
        _ = desk.heard()
        let second = desk.open()
        #expect(desk.heard() == ["ready", "update 1"])
        desk.say(#"{"type":"ack","up_to_update_id":"1"}"#, on: second)
        #expect(desk.relay.pendingUpdates().isEmpty)
    }

    @Test func anUpdateThatWasNeverSentCannotBeAcknowledged() {
        var desk = SocketDesk { $0.socket.window = 1 }
        let socket = desk.open()
        for _ in 0..<2 { _ = desk.relay.userSends(text: "x", session: nil, at: desk.at) }
        desk.say(#"{"type":"ack","up_to_update_id":"2"}"#, on: socket)
        desk.say(#"{"type":"ack","up_to_update_id":"77"}"#, on: socket)
        #expect(desk.relay.breaches.map(\.code) == [.unknownUpdate, .unknownUpdate])
        #expect(desk.relay.pendingUpdates().count == 2)
        _ = desk.heard()
        desk.say(#"{"type":"ack","up_to_update_id":"1"}"#, on: socket)
        #expect(desk.heard() == ["update 2"], "the window moves on")
    }

    @Test func anOldBacklogIsDroppedWhereThatIsWanted() {
        var desk = SocketDesk { $0.updateLifetimeMilliseconds = 300_000 }
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        desk.pass(seconds: 301)
        _ = desk.open()
        #expect(desk.heard() == ["ready"])
    }

    // MARK: Bad frames

    @Test(arguments: [
        ("no json", BreachCode.malformedFrame), ("[]", .malformedFrame), ("{}", .malformedFrame),
        (#"{"type":7}"#, .malformedFrame), (#"{"type":"hello"}"#, .malformedFrame),
        (#"{"type":"ack"}"#, .malformedFrame), (#"{"type":"akc","up_to_update_id":"1"}"#, .unknownFrame),
        (#"{"type":"file.read.resp","req_id":"r"}"#, .unknownRequest),
        (#"{"type":"file.read.resp","req_id":7}"#, .malformedFrame),
    ])
    func aBadFrameIsNotedAndHasNoEffect(frame: String, code: BreachCode) {
        var desk = SocketDesk()
        let socket = desk.open()
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        _ = desk.heard()
        desk.say(frame, on: socket)
        #expect(desk.relay.breaches.map(\.code) == [code])
        #expect(desk.heard() == [])
        #expect(desk.relay.pendingUpdates().count == 1)
    }

    @Test func binaryAndALateHelloAreBreaches() {
        var desk = SocketDesk()
        let socket = desk.open()
        desk.relay.binaryReceived(on: socket, at: desk.at)
        desk.say(#"{"type":"pong"}"#, on: socket)
        desk.say(#"{"type":"hello","version":"1"}"#, on: socket)
        #expect(desk.relay.breaches.map(\.code) == [.malformedFrame, .lateHello])
    }

    @Test func framesOfASocketThatHasEndedGoNowhere() {
        var desk = SocketDesk()
        let socket = desk.open()
        desk.relay.socketEnded(socket)
        desk.say("no json", on: socket)
        #expect(desk.relay.breaches.isEmpty)
    }
}
