import LocalServer
import Locking
import Testing
import WireTesting

@Suite struct ResponseTicketTests {
    /// A server that defers everything but `/now`, and raises the signal for each ticket.
    private func withTickets(
        _ body: (LocalServer, _ arrived: Signal, _ take: () -> [ResponseTicket]) throws -> Void
    ) throws {
        let tickets = Locked<[ResponseTicket]>([])
        let arrived = Signal()
        try withServer(handler: { request in
            guard request.target != "/now" else { return .whole(.text(200, "now")) }
            let ticket = ResponseTicket()
            tickets.withLock { $0.append(ticket) }
            arrived.raise()
            return .deferred(ticket)
        }) { server in
            try body(server, arrived) {
                tickets.withLock { tickets in
                    defer { tickets = [] }
                    return tickets
                }
            }
        }
    }

    @Test func aDeferredAnswerHoldsUpNobody() throws {
        try withTickets { server, arrived, take in
            let slow = try Wire(port: server.port)
            try slow.request("POST", "/later", body: [1])
            #expect(arrived.wait())
            #expect(try Wire(port: server.port).exchange("GET", "/now").text == "now\n")
            take().first?.answer(.whole(.text(200, "later")))
            #expect(try slow.reply().text == "later\n")
            #expect(try slow.exchange("GET", "/now").text == "now\n", "the connection goes on")
        }
    }

    @Test func onlyTheFirstAnswerCounts() throws {
        try withTickets { server, arrived, take in
            let wire = try Wire(port: server.port)
            try wire.request("GET", "/")
            #expect(arrived.wait())
            let ticket = try #require(take().first)
            ticket.answer(.whole(.text(200, "one")))
            ticket.answer(.reset)
            #expect(try wire.reply().text == "one\n")
        }
    }

    @Test func aTicketAnsweredBeforeItIsReturnedWorks() throws {
        try withServer(handler: { _ in
            let ticket = ResponseTicket()
            ticket.answer(.whole(.text(200, "early")))
            return .deferred(ticket)
        }) { server in
            let reply = try Wire(port: server.port).exchange("GET", "/")
            #expect(reply.text == "early\n")
        }
    }

    @Test func aDroppedTicketIsAnsweredWithAnError() throws {
        try withTickets { server, arrived, take in
            let wire = try Wire(port: server.port)
            try wire.request("GET", "/")
            #expect(arrived.wait())
            _ = take()
            #expect(try wire.reply().status == 500)
        }
    }

    @Test func aTicketCanResetTheConnection() throws {
        try withTickets { server, arrived, take in
            let wire = try Wire(port: server.port)
            try wire.request("GET", "/")
            #expect(arrived.wait())
            take().first?.answer(.reset)
            let end = wire.end()
            #expect(end.count == 0)
            #expect(end.failure == .reset)
        }
    }

    @Test func anAnswerForAClientThatLeftGoesNowhere() throws {
        try withTickets { server, arrived, take in
            try { try Wire(port: server.port).request("GET", "/") }()
            #expect(arrived.wait())
            take().first?.answer(.whole(.text(200, "nobody")))
            #expect(try Wire(port: server.port).exchange("GET", "/now").status == 200)
        }
    }

    @Test func stoppingEndsWhatWaits() throws {
        let arrived = Signal()
        let kept = Locked<[ResponseTicket]>([])
        let server = try LocalServer(listen: "127.0.0.1:0") { _ in
            let ticket = ResponseTicket()
            kept.withLock { $0.append(ticket) }
            arrived.raise()
            return .deferred(ticket)
        }
        try server.start()
        let waiting = try (0..<20).map { _ in try Wire(port: server.port) }
        for wire in waiting { try wire.request("GET", "/") }
        #expect(arrived.wait(times: 20))
        server.stop()
        for wire in waiting { #expect(wire.end().failure != .timedOut) }
        for ticket in kept.withLock({ $0 }) { ticket.answer(.whole(.text(200, "too late"))) }
    }
}
