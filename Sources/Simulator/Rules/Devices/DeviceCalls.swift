// Devices and keys on the phone's side, and the news of them for the bridge (relay.md#others). The documents do not say how the app
// registers itself and hands its keys over: these routes, and the names of the phones' events, are ours.
//
// - `GET /v1/me/devices`: all devices but revoked ones, the bridge's with `platform: "bridge"`;
// - `POST /v1/me/devices`: `{pubkey, label?, platform?, device_id?}`; the same key is the same device, a `device_id` gives it another key;
// - `DELETE /v1/me/devices/:id`: revokes it;
// - `POST /v1/me/devices/:id/announce`: announces it to the bridge again, for bridges that wrap their keys on such news alone;
// - `GET /v1/me/devices/:id/keys`: the wrapped keys of its chats;
// - `POST /v1/me/sessions/:id/recipients`: as in the bridge's call.
extension Relay {
    struct Grant {
        var recipients: [(device: String, box: String)]
        var maker: String?
    }

    // MARK: In the same process

    /// Adds a phone of the user and returns its id. The same key is the same device.
    @discardableResult
    package mutating func userAddsDevice(
        publicKey: String, label: String? = nil, platform: String? = nil, at now: Moment
    ) -> String {
        addPhone(nil, publicKey, label: label, platform: platform, at: now)
    }

    /// False if there is no such device.
    @discardableResult
    package mutating func userRevokes(device: String, at now: Moment) -> Bool {
        guard let known = installation.devices[device], !known.isRevoked, known != installation.devices.bridge else {
            return false
        }
        revoke(known, at: now)
        return true
    }

    /// Hands over boxes for devices that the relay knows, and drops the others.
    package mutating func userGrants(
        session: String, _ boxes: [(device: String, box: String)], by maker: String? = nil, at now: Moment
    ) {
        grant(boxes, of: session, by: maker, breach: nil, at: now)
    }

    /// Hands over boxes of a bridge in the same process.
    package mutating func bridgeGrants(session: String, _ boxes: [(device: String, box: String)], at now: Moment) {
        grant(boxes, of: session, by: bridgeDevice?.id, breach: .unknownDevice, at: now)
    }

    private mutating func grant(
        _ boxes: [(device: String, box: String)], of session: String, by maker: String?, breach: BreachCode?,
        at now: Moment
    ) {
        let known = boxes.filter { installation.devices[$0.device]?.isRevoked == false }
        guard chats[session] != nil else { return }
        try? take(Grant(recipients: known, maker: maker), for: session, breach: breach, at: now)
    }

    /// The bridge's own device, or nil before its registration.
    package var bridgeDevice: Device? { installation.devices.bridge }
    package var phoneDevices: [Device] { installation.devices.phones }
    package func wrappedKeys(of device: String) -> [WrappedKey] { installation.devices.keys(of: device) }

    // MARK: Routes of the phone

    mutating func devicesCall(_ path: [String], _ request: RawRequest, at now: Moment) throws(Refusal) -> [UInt8] {
        switch (request.method, path.count) {
        case ("GET", 0):
            let all = [installation.devices.bridge].compactMap { $0 } + installation.devices.phones
            return JSONWriter.object { result in
                result.array("devices") { list in
                    for device in all where !device.isRevoked { list.objectElement { write(device, to: &$0) } }
                }
            }
        case ("POST", 0): return try registerPhone(try Fields(body: request.body), at: now)
        case ("DELETE", 1):
            guard userRevokes(device: path[0], at: now) else { throw Self.unknownDevice(breach: nil) }
            return Array("{}".utf8)
        case ("GET", 2) where path[1] == "keys":
            guard installation.devices[path[0]] != nil else { throw Self.unknownDevice(breach: nil) }
            return JSONWriter.object { result in
                result.array("keys") { list in
                    for key in wrappedKeys(of: path[0]) { list.objectElement { Self.write(key, to: &$0) } }
                }
            }
        case ("POST", 2) where path[1] == "announce":
            guard let device = installation.devices[path[0]], !device.isRevoked else {
                throw Self.unknownDevice(breach: nil)
            }
            queueAnnouncement(of: device, at: now)
            return Array("{}".utf8)
        case (_, 0), (_, 1): throw Self.notTaken(request)
        case (_, 2) where ["keys", "announce"].contains(path[1]): throw Self.notTaken(request)
        default: throw Refusal(status: 404, code: "not_found", message: "There is nothing at this address.")
        }
    }

    private mutating func registerPhone(_ body: Fields, at now: Moment) throws(Refusal) -> [UInt8] {
        var body = body
        let key = body.publicKey()
        let label = body.optional("label")
        let platform = body.optional("platform", atMost: 64)
        let wanted = body.optional("device_id")
        try body.check()
        if let wanted, !installation.devices.phones.contains(where: { $0.id == wanted }) {
            throw Self.unknownDevice(breach: nil)
        }
        let known = wanted.flatMap { installation.devices[$0] }
        if known == nil, installation.devices.phone(withKey: key) == nil,
            installation.devices.phones.count >= options.deviceLimit
        {
            throw Refusal(status: 409, code: "too_many_devices", message: "There are too many devices.")
        }
        let id = addPhone(wanted, key, label: label, platform: platform, at: now)
        return Self.receipt(id, isChanged: known.map { $0.publicKey != key } ?? false)
    }

    private static func unknownDevice(breach: BreachCode?) -> Refusal {
        .notFound("device_not_found", "The device", breach: breach)
    }

    private mutating func addPhone(
        _ wanted: String?, _ key: String, label: String?, platform: String?, at now: Moment
    ) -> String {
        let known = wanted.flatMap { installation.devices[$0] } ?? installation.devices.phone(withKey: key)
        let id = known?.id ?? identifiers.identifier("dev_")
        let phone = Device(
            id: id, publicKey: key, label: label ?? known?.label, platform: platform ?? known?.platform)
        installation.devices.registerPhone(phone)
        if known?.publicKey != key || known?.isRevoked == true {
            queueAnnouncement(of: phone, at: now)
            announce(phone, toBridge: false, at: now)
        }
        return id
    }

    private mutating func revoke(_ device: Device, at now: Moment) {
        installation.devices.revoke(phone: device.id)
        publish("device_revoked", at: now) { $0.field("device_id", device.id) }
        queueUpdate("device_revoked", session: nil, interaction: nil, at: now) { $0.field("device_id", device.id) }
    }

    // MARK: Announcements

    /// Announces a device to all phones, and to the bridge, which hears of every device, its own included.
    mutating func announce(_ device: Device, toBridge: Bool = true, at now: Moment) {
        if toBridge { queueAnnouncement(of: device, at: now) }
        publish("device_added", JSONWriter.object { write(device, to: &$0) }, at: now)
    }

    mutating func queueAnnouncement(of device: Device, at now: Moment) {
        let payload = JSONWriter.object { write(device, to: &$0) }
        queueUpdate("device_added", session: nil, interaction: nil, payload: payload, at: now)
    }

    private func write(_ device: Device, to writer: inout JSONWriter) {
        writer.field("device_id", device.id)
        writer.field("pubkey", device.publicKey)
        writer.field("label", device.label)
        writer.field("platform", device.platform)
        writer.field("installation_id", options.installation)
    }

    // MARK: Grants

    /// `areJudged` for a bridge's grant. A tester may have the phone grant anything.
    mutating func recipients(_ fields: inout Fields, areJudged: Bool) throws(Refusal) -> Grant {
        let maker = fields.optional("wrapped_by_device_id")
        var recipients: [(device: String, box: String)] = []
        if case .array(let list) = fields.member("recipients"), (1...256).contains(list.count) {
            for (index, member) in list.enumerated() {
                guard let device = member["device_id"]?.string, let box = member["wrapped_session_key"]?.string,
                    box.utf8.count <= 4_096
                else {
                    fields.complain(
                        "recipients.\(index)", .invalidType, "needs device_id and wrapped_session_key",
                        .malformedRequest)
                    continue
                }
                if areJudged, SealedShape(box)?.isWrappedKey != true {
                    fields.complain(
                        "recipients.\(index).wrapped_session_key", .invalidString,
                        "is no sealed box of a session key in base64", .malformedEnvelope)
                }
                recipients.append((device, box))
            }
        } else {
            fields.complain("recipients", .invalidType, "expected a list of 1 to 256", .malformedRequest)
        }
        try fields.check()
        return Grant(recipients: recipients, maker: maker)
    }

    /// Takes all boxes or none. A phone's boxes all go to the bridge, even those for other devices:
    /// the bridge has to recognise its own (relay.md#session-key-life-cycle).
    mutating func take(_ grant: Grant, for session: String, breach: BreachCode?, at now: Moment) throws(Refusal) {
        for (device, _) in grant.recipients {
            guard let known = installation.devices[device] else { throw Self.unknownDevice(breach: breach) }
            guard !known.isRevoked else {
                throw Refusal(
                    status: 403, code: "permission_denied", message: "The device \(device) was revoked.",
                    breach: breach)
            }
        }
        let isOfBridge = breach != nil
        for (device, box) in grant.recipients {
            let key = WrappedKey(session: session, device: device, box: box, wrappedBy: grant.maker, at: now)
            installation.devices.keep(key)
            publish("session_key_granted", at: now) { Self.write(key, to: &$0) }
            guard !isOfBridge else { continue }
            queueUpdate("session_key_granted", session: session, interaction: nil, at: now) { payload in
                payload.field("session_id", session)
                payload.field("device_id", device)
                payload.field("wrapped_session_key", box)
            }
        }
    }

    private static func write(_ key: WrappedKey, to writer: inout JSONWriter) {
        writer.field("session_id", key.session)
        writer.field("device_id", key.device)
        writer.field("wrapped_session_key", key.box)
        writer.field("wrapped_by_device_id", key.wrappedBy)
    }
}
