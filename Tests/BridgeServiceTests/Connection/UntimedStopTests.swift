import RelayProtocol
import Testing
import Vocabulary

@testable import BridgeService

@Suite("When a stop without a time was pressed")
struct UntimedStopTests {
    private static func stop(_ update: String, chat: String = "ses_1", at seconds: Int64) -> RelayUpdate {
        RelayUpdate(
            id: UpdateID(update), type: "session.cancelled", receivedAt: .zero + .seconds(seconds),
            session: SessionID(chat), payload: .stop(.userAborted))
    }

    @Test("is its first delivery, however often it comes again")
    func again() {
        var arriving = Arriving()
        let heard = [5, 10, 900].map { arriving.firstHeard(Self.stop("7", at: $0)) }
        #expect(heard == Array(repeating: .zero + .seconds(5), count: 3))
    }

    @Test("is its own delivery beside a stop of another number or another chat")
    func others() {
        var arriving = Arriving()
        _ = arriving.firstHeard(Self.stop("7", at: 5))
        #expect(arriving.firstHeard(Self.stop("8", at: 6)) == .zero + .seconds(6))
        #expect(arriving.firstHeard(Self.stop("7", chat: "ses_2", at: 7)) == .zero + .seconds(7))
    }

    @Test("is the later delivery where half an hour lies between: a relay may count from one again")
    func later() {
        var arriving = Arriving()
        _ = arriving.firstHeard(Self.stop("7", at: 5))
        #expect(arriving.firstHeard(Self.stop("7", at: 1_805)) == .zero + .seconds(1_805))
    }
}
