import RelayRules
import Testing

/// Devices, their keys in boxes, and what each side hears of them (relay.md#device-identity,
/// relay.md#session-key-life-cycle).
@Suite struct DeviceTests {
    private static let bridgeKey = String(repeating: "0f", count: 32)
    private static let phoneKey = String(repeating: "1a", count: 32)
    /// 94 bytes, the first of them 2.
    private static let box = "Ag" + String(repeating: "A", count: 124) + "=="
    private static let otherBox = "Ag" + String(repeating: "B", count: 123) + "A=="

    private var desk = SocketDesk()
    private let session: String

    init() { session = desk.relay.userStartsSession(at: desk.at) }

    private mutating func registerBridge(_ key: String = DeviceTests.bridgeKey) throws -> String {
        let answer = desk.asBridge("devices", #"{"pubkey":"\#(key)","label":"desk"}"#).text
        return try #require(SocketDesk.value(of: "device_id", in: answer))
    }

    private mutating func registerPhone(_ key: String = DeviceTests.phoneKey, more: String = "") throws -> String {
        let answer = desk.asUser("POST", "devices", #"{"pubkey":"\#(key)","label":"phone","platform":"ios"\#(more)}"#)
        return try #require(SocketDesk.value(of: "device_id", in: answer.text))
    }

    private static func grant(_ device: String, _ box: String = DeviceTests.box, more: String = "") -> String {
        #"{"recipients":[{"device_id":"\#(device)","wrapped_session_key":"\#(box)"}]\#(more)}"#
    }

    /// The updates of one type, each as its payload.
    private func updates(_ type: String) -> [String] {
        desk.relay.pendingUpdates().filter { $0.type == type }.map { update in
            let frame = String(decoding: update.frame, as: UTF8.self)
            return frame.firstRange(of: "\"payload\":").map { String(frame[$0.upperBound...].dropLast(2)) } ?? frame
        }
    }

    private func events(_ type: String) -> [String] {
        desk.relay.phoneEvents(after: nil).filter { $0.type == type }.map { String(decoding: $0.data, as: UTF8.self) }
    }

    @Test mutating func aPhoneIsADeviceThatBothSidesHearOf() throws {
        let phone = try registerPhone()
        let told =
            #"{"device_id":"\#(phone)","pubkey":"\#(Self.phoneKey)","label":"phone","platform":"ios","installation_id":"inst_Simulator0000001"}"#
        #expect(updates("device_added") == [told])
        #expect(events("device_added") == [told])
        #expect(try registerPhone() == phone, "the same key is the same device")
        #expect(updates("device_added").count == 1)
        #expect(desk.asUser("POST", "devices/\(phone)/announce").status == 200)
        #expect(desk.asUser("POST", "devices/dev_x/announce").status == 404)
        #expect(updates("device_added") == [told, told] && events("device_added").count == 1)
        #expect(desk.asUser("GET", "devices").text == #"{"ok":true,"result":{"devices":[\#(told)]}}"#)
        let answer = desk.asUser(
            "POST", "devices", #"{"pubkey":"\#(Self.bridgeKey)","device_id":"\#(phone)"}"#
        ).text
        #expect(answer.contains(#""device_id":"\#(phone)","pubkey_changed":true"#))
        #expect(updates("device_added").count == 3)
        #expect(desk.relay.phoneDevices.map(\.publicKey) == [Self.bridgeKey])
        #expect(desk.asUser("POST", "devices", #"{"pubkey":"\#(Self.phoneKey)","device_id":"dev_x"}"#).status == 404)
        #expect(desk.asUser("POST", "devices", #"{"pubkey":"12"}"#).status == 400)
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test mutating func aBridgeThatIsNewHearsOfTheDevicesThereAre() throws {
        let phone = try registerPhone()
        let gone = try registerPhone(String(repeating: "2b", count: 32))
        #expect(desk.asUser("DELETE", "devices/\(gone)").status == 200)
        for update in desk.relay.pendingUpdates() { desk.relay.acknowledge(upTo: update.id) }
        let bridge = try registerBridge()
        #expect(updates("device_added").map { SocketDesk.value(of: "device_id", in: $0) } == [phone, bridge])
        #expect(updates("device_added").last?.contains(#""platform":"bridge""#) == true)
        #expect(try registerBridge() == bridge)
        #expect(updates("device_added").count == 2, "it is known")
        #expect(try registerBridge(String(repeating: "3c", count: 32)) == bridge)
        #expect(updates("device_added").count == 4, "it may be another program")
    }

    @Test mutating func aGrantOfThePhoneReachesTheBridgeAndIsKeptForItsDevice() throws {
        let (bridge, phone) = (try registerBridge(), try registerPhone())
        let both =
            #"{"recipients":[{"device_id":"\#(bridge)","wrapped_session_key":"\#(Self.box)"},"#
            + #"{"device_id":"\#(phone)","wrapped_session_key":"\#(Self.otherBox)"}],"wrapped_by_device_id":"\#(phone)"}"#
        #expect(desk.asUser("POST", "sessions/\(session)/recipients", both).status == 200)
        #expect(
            updates("session_key_granted") == [
                #"{"session_id":"\#(session)","device_id":"\#(bridge)","wrapped_session_key":"\#(Self.box)"}"#,
                #"{"session_id":"\#(session)","device_id":"\#(phone)","wrapped_session_key":"\#(Self.otherBox)"}"#,
            ], "also what is for another device, which a bridge has to leave alone")
        let kept =
            #"{"session_id":"\#(session)","device_id":"\#(phone)","wrapped_session_key":"\#(Self.otherBox)","wrapped_by_device_id":"\#(phone)"}"#
        #expect(desk.asUser("GET", "devices/\(phone)/keys").text == #"{"ok":true,"result":{"keys":[\#(kept)]}}"#)
        #expect(events("session_key_granted").last == kept)
        #expect(desk.asUser("GET", "devices/dev_x/keys").status == 404)
        #expect(desk.asUser("POST", "devices/\(phone)/keys").status == 405)
        #expect(desk.asUser("GET", "devices/\(phone)/announce").status == 405)
        #expect(desk.asUser("PUT", "devices").status == 405)
        #expect(desk.asUser("POST", "sessions/ses_x/recipients", both).status == 404)
        #expect(desk.asUser("POST", "sessions/\(session)/recipients", Self.grant("dev_x")).status == 404)
        #expect(desk.asUser("POST", "sessions/\(session)/recipients", Self.grant(phone, "any")).status == 200)
    }

    @Test mutating func aGrantOfTheBridgeReachesThePhoneAndNotItself() throws {
        let (bridge, phone) = (try registerBridge(), try registerPhone())
        let call = "sessions/\(session)/recipients"
        #expect(desk.asBridge(call, Self.grant(phone, more: #","wrapped_by_device_id":"\#(bridge)""#)).status == 200)
        #expect(desk.asBridge(call, Self.grant(phone, Self.otherBox)).status == 200, "made twice, the later one counts")
        #expect(updates("session_key_granted").isEmpty)
        #expect(events("session_key_granted").count == 2)
        #expect(desk.relay.wrappedKeys(of: phone).map(\.box) == [Self.otherBox])
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test mutating func aGrantThatDoesNotFitIsRefusedWhole() throws {
        let (bridge, phone) = (try registerBridge(), try registerPhone())
        let call = "sessions/\(session)/recipients"
        func refused(_ body: String, _ session: String? = nil) -> String? {
            let answer = desk.asBridge(session.map { "sessions/\($0)/recipients" } ?? call, body)
            return answer.status == 200
                ? nil : "\(answer.status) \(SocketDesk.value(of: "code", in: answer.text) ?? "")"
        }
        #expect(refused(Self.grant(phone), "ses_other") == "404 session_not_found")
        #expect(refused(Self.grant("dev_other")) == "404 device_not_found")
        #expect(refused(Self.grant(phone, more: #","wrapped_by_device_id":"\#(phone)""#)) == "403 permission_denied")
        let shorter = String(Self.box.dropLast())
        for wrong in ["", "AA==", "x", shorter, "Aw" + Self.box.dropFirst(2), Self.box + "AAAA"] {
            #expect(refused(Self.grant(phone, wrong)) == "400 invalid_request", "\(wrong)")
        }
        for body in ["{}", #"{"recipients":[]}"#, #"{"recipients":[{}]}"#] {
            #expect(refused(body) == "400 invalid_request")
        }
        #expect(refused(Self.grant(phone), "\(session)/else") == "404 not_found")
        _ = desk.asUser("DELETE", "devices/\(phone)")
        let both =
            #"{"recipients":[{"device_id":"\#(bridge)","wrapped_session_key":"\#(Self.box)"},"#
            + #"{"device_id":"\#(phone)","wrapped_session_key":"\#(Self.box)"}]}"#
        #expect(refused(both) == "403 permission_denied")
        #expect(desk.relay.wrappedKeys(of: bridge).isEmpty && desk.relay.wrappedKeys(of: phone).isEmpty)
        _ = desk.asUser("DELETE", "sessions/\(session)")
        #expect(refused(Self.grant(bridge)) == "410 session_deleted")
        #expect(
            Set(desk.relay.breaches.map(\.code)) == [
                .unknownSession, .unknownDevice, .malformedEnvelope, .malformedRequest, .unknownRoute,
            ])
    }

    @Test mutating func aRevokedDeviceHasNoKeysAndComesBackAsItself() throws {
        let phone = try registerPhone()
        _ = desk.asUser("POST", "sessions/\(session)/recipients", Self.grant(phone))
        #expect(desk.asUser("DELETE", "devices/\(phone)").status == 200)
        #expect(updates("device_revoked") == [#"{"device_id":"\#(phone)"}"#])
        #expect(events("device_revoked") == [#"{"device_id":"\#(phone)"}"#])
        #expect(desk.relay.wrappedKeys(of: phone).isEmpty)
        #expect(desk.asUser("DELETE", "devices/\(phone)").status == 404)
        #expect(desk.asUser("POST", "sessions/\(session)/recipients", Self.grant(phone)).status == 403)
        #expect(desk.asUser("GET", "devices").text.contains(#""devices":[]"#))
        #expect(try registerPhone() == phone)
        #expect(updates("device_added").count == 2)
        let bridge = try registerBridge()
        #expect(desk.asUser("DELETE", "devices/\(bridge)").status == 404, "that is for its token")
    }

    @Test mutating func anotherKeyTakesTheBoxesThatWereMadeForTheFirst() throws {
        let (bridge, phone) = (try registerBridge(), try registerPhone())
        for device in [bridge, phone] {
            _ = desk.asUser("POST", "sessions/\(session)/recipients", Self.grant(device))
        }
        #expect(try registerBridge() == bridge)
        #expect(desk.relay.wrappedKeys(of: bridge).count == 1)
        #expect(try registerBridge(String(repeating: "5", count: 64)) == bridge)
        #expect(desk.relay.wrappedKeys(of: bridge).isEmpty)
        #expect(events("device_added").last?.contains("55555") == true, "phones wrap their keys for it anew")
        #expect(desk.relay.wrappedKeys(of: phone).count == 1)
        _ = try registerPhone(String(repeating: "6", count: 64), more: #","device_id":"\#(phone)""#)
        #expect(desk.relay.wrappedKeys(of: phone).isEmpty)
    }

    @Test mutating func devicesAndKeysAreInTheState() throws {
        let (bridge, phone) = (try registerBridge(), try registerPhone())
        for device in [bridge, phone] {
            _ = desk.asUser("POST", "sessions/\(session)/recipients", Self.grant(device))
        }
        let gone = try registerPhone(String(repeating: "7", count: 64))
        _ = desk.asUser("DELETE", "devices/\(gone)")
        var after = SocketDesk()
        after.relay = try Relay(state: desk.relay.state)
        #expect(after.relay.state == desk.relay.state)
        for path in ["devices", "devices/\(phone)/keys", "devices/\(bridge)/keys", "devices/\(gone)/keys"] {
            #expect(after.asUser("GET", path).text == desk.asUser("GET", path).text)
        }
        // The state of an earlier version, which knew no phones.
        var old = String(decoding: desk.relay.state, as: UTF8.self)
        let added = try #require(old.firstMatch(of: /"devices":\[.*?\],"wrapped_keys":\[.*?\],/))
        old.removeSubrange(added.range)
        after.relay = try Relay(state: Array(old.utf8))
        #expect(after.relay.bridgeDevice == desk.relay.bridgeDevice)
        #expect(after.relay.phoneDevices.isEmpty)
    }

    @Test mutating func aForgottenChatTakesItsKeysWithIt() throws {
        let phone = try registerPhone()
        desk.relay.userGrants(session: session, [(phone, Self.box), ("dev_unknown", Self.box)], at: desk.at)
        #expect(desk.relay.wrappedKeys(of: phone).map(\.session) == [session])
        _ = desk.asUser("DELETE", "sessions/\(session)")
        desk.pass(seconds: 25 * 3_600)
        #expect(desk.relay.wrappedKeys(of: phone).isEmpty)
    }

    @Test mutating func thereIsARoomfulOfDevicesAtMost() throws {
        var options = RelayOptions()
        options.deviceLimit = 1
        desk.relay = Relay(options: options)
        _ = try registerPhone()
        let answer = desk.asUser("POST", "devices", #"{"pubkey":"\#(Self.bridgeKey)"}"#)
        #expect(answer.status == 409 && answer.text.contains("too_many_devices"))
    }
}
