import BridgeService
import Testing
import Vocabulary

@Suite("Which changes a running bridge can take")
struct ReloadTests {
    private static let base =
        #"{"connections":[{"name":"a","relay":{"token":"inst_a:s_test_0123456789"},"agent":{"token":"x0123456789"}}]}"#

    private static func keys(_ text: String) throws -> [String] {
        Reload.fixedKeys(from: try load(base), to: try load(text))
    }

    @Test("tokens, the log, limits, allow_plain and what is said of asks can change together")
    func reloadable() throws {
        let text = """
            {"connections":[{"name":"a","relay":{"token":"inst_b:s_test_9876543210"},"agent":{"token":"y0123456789"},
            "encryption":"require","devices":"trust","when_unanswered":"deny",
            "severity":[{"match":"terraform apply","severity":"critical"}]}],
            "log":{"level":"debug","format":"json"},"allow_plain":["relay.example"],
            "limits":{"relay_connections":32,"relay_call":"5s","stop_flush":"1s","unanswered":"1h"}}
            """
        #expect(try Self.keys(text) == [])
        #expect(try Self.keys(Self.base) == [])
    }

    @Test("another value of a variable of the agent refuses the reload, though none is shown")
    func variables() throws {
        func text(_ value: String) -> String {
            #"{"connections":[{"name":"a","agent":{"kind":"pi","env":{"MODEL_KEY":"\#(value)"}}}]}"#
        }
        #expect(Reload.fixedKeys(from: try load(text("old")), to: try load(text("old"))) == [])
        let keys = Reload.fixedKeys(from: try load(text("old")), to: try load(text("new")))
        #expect(keys == ["connections[0].agent.env"])
    }

    @Test("a new link for pairing is a token too")
    func invite() throws {
        func text(_ invite: String) -> String {
            #"{"connections":[{"name":"a","agent":{"kind":"oppi"\#(invite)}}]}"#
        }
        let json = #"{"v":3,"host":"10.0.0.5","port":7750,"pairingToken":"pt_abc"}"#
        let link = "oppi://connect?v=3&invite=" + Base64URL.encode(Array(json.utf8))
        let keys = Reload.fixedKeys(from: try load(text("")), to: try load(text(#","invite":"\#(link)""#)))
        #expect(keys == [])
    }

    @Test(
        "anything else refuses the whole of it, and is named",
        arguments: [
            (#""name":"b""#, "connections[0].name"), (#""mirror":"all""#, "connections[0].mirror"),
            (#""when_busy":"steer""#, "connections[0].when_busy"),
            (#""relay":{"base_url":"https://relay.example"}"#, "connections[0].relay.base_url"),
            (#""relay":{"http2":true}"#, "connections[0].relay.http2"),
            (#""agent":{"url":"ws://127.0.0.1:1"}"#, "connections[0].agent.url"),
        ])
    func fixed(_ member: String, _ key: String) throws {
        let name = member.contains(#""name""#) ? "" : #""name":"a","#
        #expect(try Self.keys(#"{"connections":[{\#(name)\#(member)}]}"#) == [key])
    }

    @Test("keys of the whole bridge are named too, all of them at once")
    func top() throws {
        let text =
            #"{"connections":[{"name":"a"}],"state_dir":"/x","on_stop":"close","host_label":"h","record_dir":"/r"}"#
        #expect(try Self.keys(text) == ["host_label", "on_stop", "record_dir", "state_dir"])
    }

    @Test("a connection more or less is the list's own change")
    func count() throws {
        let text = #"{"connections":[{"name":"a"},{"name":"b","relay":{"token":"inst_c:s_test_0123456789"}}]}"#
        #expect(try Self.keys(text) == ["connections"])
    }
}
