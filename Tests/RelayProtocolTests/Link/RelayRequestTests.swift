import RelayProtocol
import Testing
import Vocabulary

@Suite("Requests of the relay")
struct RelayRequestTests {
    private static func requests(_ talk: LinkConversation) -> [RelayRequest] {
        talk.orders.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    @Test("the models are asked for, and the answer goes back under the name of its reply")
    func models() throws {
        let talk = LinkConversation.live()
        talk.receive(#"{"type":"models.list.req","req_id":"r1"}"#)
        let request = try #require(Self.requests(talk).first)
        #expect(request.question == .models)
        talk.reply(.members(Array(#"{"models":[]}"#.utf8)), to: request)
        #expect(talk.sent == [#"{"models":[],"type":"models.list.resp","req_id":"r1"}"#])
        talk.reply(.members(Array("{}".utf8)), to: request)
        #expect(talk.sent == [], "it has had its answer")
    }

    @Test(
        "each verb of the scheduler goes on with its parameters",
        arguments: ["list", "status", "add", "update", "remove", "run", "runs"])
    func schedule(verb: String) throws {
        let talk = LinkConversation.live()
        talk.receive(#"{"type":"cron.\#(verb).req","req_id":"r1","params":{"id": "j1"}}"#)
        let request = try #require(Self.requests(talk).first)
        #expect(request.question == .schedule(verb: verb, parameters: JSONText(unchecked: #"{"id":"j1"}"#)))
        talk.reply(.failed(code: request.failure, message: "no"), to: request)
        #expect(
            talk.sent == [
                #"{"error":{"code":"cron_\#(verb)_failed","message":"no"},"type":"cron.\#(verb).resp","req_id":"r1"}"#
            ])
    }

    @Test(
        "parameters that are no object, or too large, are refused at once",
        arguments: ["[1]", "7", #""all""#, "null", nil])
    func parameters(_ value: String?) {
        let talk = LinkConversation.live()
        let long = "{\"a\":\"\(String(repeating: "x", count: 70_000))\"}"
        talk.receive(#"{"type":"cron.list.req","req_id":"r1","params":\#(value ?? long)}"#)
        #expect(talk.sent.first?.contains(#""code":"cron_list_failed""#) == true)
    }

    @Test("a file is named by what the relay says of it, whole or not at all")
    func file() throws {
        let talk = LinkConversation.live()
        let long = String(repeating: "x", count: 20_000)
        talk.receive(
            #"{"type":"file.read.req","req_id":"r1","path":"/a","server_vouched_path":"/b","path_ct":"\#(long)"}"#)
        let request = try #require(Self.requests(talk).first)
        #expect(request.question == .file(FileQuestion(path: "/a", vouchedPath: "/b")))
        talk.reply(.failed(code: "too_large", message: "no", details: Array(#"{"size_bytes":9}"#.utf8)), to: request)
        #expect(talk.sent.first?.contains(#"{"code":"too_large","message":"no","size_bytes":9}"#) == true)
    }

    private static func asks(_ numbers: ClosedRange<Int>, _ talk: LinkConversation) {
        for number in numbers {
            talk.receive(
                #"{"type":"file.read.req","req_id":"r\#(number)","path":"/a","server_vouched_path":"/a"}"#)
        }
    }

    private static let picture = RelayReply.members(
        Array("{\"base64\":\"\(String(repeating: "A", count: 2_000_000))\"}".utf8))

    @Test(
        "of files that are asked for at once two are on their way, and the others wait: pongs are not behind them all")
    func files() throws {
        let talk = LinkConversation.live()
        Self.asks(1...6, talk)
        let first = Self.requests(talk)
        #expect(first.map(\.id) == ["r1", "r2"])
        talk.reply(Self.picture, to: first[0])
        let orders = talk.orders
        #expect(orders.count == 2 && orders.last == .ping, "it is on its way until the relay has read it")
        #expect(talk.link.heldBytes > 2_000_000)
        talk.pong()
        let third = Self.requests(talk)
        #expect(third.map(\.id) == ["r3"] && talk.link.heldBytes == 0)
        // A small answer does not block the files behind it.
        talk.reply(.failed(code: "not_found", message: "no"), to: first[1])
        #expect(Self.requests(talk).map(\.id) == ["r4"])
        talk.receive(#"{"type":"models.list.req","req_id":"m"}"#)
        #expect(Self.requests(talk).map(\.id) == ["m"], "they hold up no other request")
        talk.reply(Self.picture, to: third[0])
        _ = talk.orders
        // No pong follows this picture. The other files do not wait without end: each gets an error in time.
        talk.pass(21)
        #expect(talk.sent.count { $0.contains("no answer in time") } == 4)
        Self.asks(7...9, talk)
        #expect(Self.requests(talk).map(\.id) == ["r7"])
        talk.pass(10)
        #expect(Self.requests(talk).map(\.id) == ["r8"])
        talk.close(1006)
        #expect(talk.link.heldBytes == 0)
    }

    @Test("one that is not answered in time gets an error, and no second answer")
    func late() throws {
        let talk = LinkConversation.live()
        talk.receive(#"{"type":"models.list.req","req_id":"r1"}"#)
        let request = try #require(Self.requests(talk).first)
        talk.pass(13)
        #expect(!talk.sent.contains { $0.contains("no answer in time") })
        talk.pass(2)
        #expect(
            talk.sent == [
                #"{"error":{"code":"models_list_failed","message":"no answer in time"},"type":"models.list.resp","req_id":"r1"}"#
            ])
        talk.reply(.members(Array("{}".utf8)), to: request)
        #expect(talk.sent == [])
    }

    @Test("with its socket a request is forgotten; the same id twice is one request, and there is a bound")
    func bounds() throws {
        let talk = LinkConversation.live()
        for number in 0..<70 {
            talk.receive(#"{"type":"models.list.req","req_id":"r\#(number)"}"#)
            talk.receive(#"{"type":"models.list.req","req_id":"r\#(number)"}"#)
        }
        let orders = talk.orders
        let asked = orders.compactMap { if case .request(let request) = $0 { request } else { nil } }
        #expect(asked.count == 64)
        #expect(orders.count { if case .send = $0 { true } else { false } } == 12)
        talk.close(1006)
        _ = talk.orders
        talk.reply(.members(Array("{}".utf8)), to: try #require(asked.first))
        #expect(talk.sent == [])
    }
}
