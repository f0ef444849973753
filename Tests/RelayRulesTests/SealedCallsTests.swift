import RelayRules
import Testing

/// Sealed calls, and the file view that depends on them (relay.md#devices, relay.md#notifytoolfile).
@Suite struct SealedCallsTests {
    private static let index = "0123456789abcdefghijkl"
    private static let key = String(repeating: "0f", count: 32)

    private func desk() -> (SocketDesk, String) {
        var desk = SocketDesk()
        let session = desk.relay.userSends(text: "x", session: nil, at: desk.at).session
        return (desk, session)
    }

    @Test func aDeviceKeepsItsNameAndTellsOfAnotherKey() throws {
        var (desk, _) = desk()
        let first = desk.asBridge("devices", #"{"pubkey":"\#(Self.key)","label":"work-mac"}"#)
        #expect(first.text.contains(#""pubkey_changed":false"#))
        #expect(desk.asBridge("devices", #"{"pubkey":"\#(Self.key)","label":"work-mac"}"#).text == first.text)
        let other = desk.asBridge("devices", #"{"pubkey":"\#(String(repeating: "a", count: 64))","label":"m"}"#)
        #expect(other.text.contains(#""pubkey_changed":true"#))
        #expect(SocketDesk.value(of: "device_id", in: other.text) == SocketDesk.value(of: "device_id", in: first.text))
        #expect(desk.relay.breaches.isEmpty)
        for wrong in [Self.key.uppercased(), String(Self.key.dropLast()), ""] {
            #expect(desk.asBridge("devices", #"{"pubkey":"\#(wrong)","label":"m"}"#).status == 400)
        }
        #expect(desk.asBridge("devices", #"{"pubkey":"\#(Self.key)"}"#).status == 400)
    }

    @Test func onlyAnAnnouncedFileCanBeViewedSealed() throws {
        var (desk, session) = desk()
        let socket = desk.open()
        let request = RawRequest(
            method: "GET", target: "/v1/me/sessions/\(session)/file?blind_idx=\(Self.index)",
            headers: [RawHeader("Authorization", "Bearer \(RelayOptions().userToken)")])
        let refused = desk.relay.viewRemote(request, at: desk.at)
        guard case .answered(let refusal) = refused else { Issue.record("not refused"); return }
        #expect(refusal.status == 403)
        let announcement =
            #"{"session_id":"\#(session)","tool":"edit","path_ct":"AA==","display_name_ct":"AA==","#
            + #""path_blind_idx":"\#(Self.index)"}"#
        for _ in 0..<2 { #expect(desk.asBridge("notifyToolFile", announcement).status == 200) }
        _ = desk.relay.takeSocketInstructions()
        guard case .asked(let id) = desk.relay.viewRemote(request, at: desk.at) else {
            Issue.record("not asked"); return
        }
        let frame =
            #"{"type":"file.read.req","req_id":"\#(id)","session_id":"\#(session)","blind_idx":"\#(Self.index)","path_ct":"AA=="}"#
        #expect(desk.relay.takeSocketInstructions().map(\.order) == [.send(Array(frame.utf8))])
        #expect(desk.relay.remoteAnswer(id) == nil)
        desk.say(
            #"{"type":"file.read.resp","req_id":"\#(id)","error":{"code":"too_large","size_bytes":9}}"#, on: socket)
        #expect(desk.relay.remoteAnswer(id)?.status == 413)
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func whoMayNotViewIsTold() {
        var (desk, session) = desk()
        func status(_ path: String, token: String = RelayOptions().userToken) -> Int? {
            let headers = [RawHeader("Authorization", "Bearer \(token)")]
            let request = RawRequest(method: "GET", target: "/v1/me/sessions/\(path)", headers: headers)
            guard case .answered(let answer) = desk.relay.viewRemote(request, at: desk.at) else { return nil }
            return answer.status
        }
        #expect(status("\(session)/file?path=/a", token: "x") == 401)
        #expect(status("ses_other/file?path=/a") == 404)
        #expect(status("\(session)/file") == 400)
        #expect(status("\(session)/file?path=/a") == 503, "no bridge is there")
        #expect(status("\(session)/messages") == nil)
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test func anAnnouncementThatDoesNotFitIsRefused() {
        var (desk, session) = desk()
        let body =
            #"{"session_id":"\#(session)","tool":"run","path_ct":"A","path_blind_idx":"short"}"#
        let answer = desk.asBridge("notifyToolFile", body)
        #expect(answer.status == 400)
        for path in ["tool", "path_ct", "display_name_ct", "path_blind_idx"] {
            #expect(answer.text.contains(#""path":"\#(path)""#), "\(path)")
        }
    }
}
