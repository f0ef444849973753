/// A rate bucket at a moment.
package struct BucketReport: Hashable, Sendable {
    package var name: String
    package var capacity: Double
    package var refillPerSecond: Double
    package var level: Double
    package var taken: Int
    package var isFull: Bool { level >= capacity }
}

/// A planned fault with strikes left.
package struct PlannedFault: Hashable, Sendable {
    package var kind: String
    package var method: String?
    package var left: Int
}

/// The random faults in force.
package struct ActiveMix: Hashable, Sendable {
    package var seed: UInt64
    package var rate: Double
    package var kinds: [String]
}

/// The misfortunes to come, planned and random.
package struct FaultReport: Hashable, Sendable {
    package var planned: [PlannedFault]
    package var mix: ActiveMix?
    package var isEmpty: Bool { planned.isEmpty && mix == nil }

    func write(to data: inout JSONWriter) {
        data.array("faults") { list in
            for fault in planned {
                list.objectElement { item in
                    item.field("kind", fault.kind)
                    item.field("method", fault.method)
                    item.field("left", Int64(fault.left))
                }
            }
        }
        guard let mix else { return }
        data.object("mix") { item in
            item.field("seed", json: String(mix.seed))
            item.field("rate", json: "\(mix.rate)")
            item.array("kinds") { list in
                for kind in mix.kinds { list.element(json: Array("\"\(kind)\"".utf8)) }
            }
        }
    }
}

/// An event for watchers of the relay: a name and JSON on one line.
package enum WatchEvent: Hashable, Sendable {
    case call(BridgeCall)
    case buckets([BucketReport], at: Moment)
    case breach(Breach)
    case warning(Warning)
    case bridge(BridgeStanding)
    case faults(FaultReport)

    package var name: String {
        switch self {
        case .call: "call"
        case .buckets: "buckets"
        case .breach: "breach"
        case .warning: "warning"
        case .bridge: "bridge"
        case .faults: "fault"
        }
    }

    package var data: [UInt8] {
        JSONWriter.object { data in
            switch self {
            case .call(let call): Self.write(call, to: &data)
            case .buckets(let buckets, let now): Self.write(buckets, now, to: &data)
            case .breach(let breach):
                data.field("code", breach.code.rawValue)
                data.field("sentence", breach.sentence)
                data.field("method", breach.method)
                data.field("request_id", breach.request)
                data.field("at_ms", breach.at.milliseconds)
            case .warning(let warning):
                data.field("code", warning.code.rawValue)
                data.field("sentence", warning.code.sentence)
                data.field("method", warning.method)
                data.field("count", Int64(warning.count))
                data.field("request_id", warning.request)
                data.field("at_ms", warning.at.milliseconds)
            case .bridge(let standing):
                data.field("state", standing.state.rawValue)
                data.field("sockets", Int64(standing.sockets))
                data.field("version", standing.version)
            case .faults(let report): report.write(to: &data)
            }
        }
    }

    private static func write(_ call: BridgeCall, to data: inout JSONWriter) {
        data.field("at_ms", call.at.milliseconds)
        data.field("method", call.method)
        data.field("status", Int64(call.status))
        data.field("code", call.code)
        data.field("request_id", call.request)
        data.field("session_id", call.session)
        data.field("interaction_id", call.interaction)
        data.field("bytes", Int64(call.byteCount))
        data.field("fault", call.fault)
        guard !call.warnings.isEmpty else { return }
        data.array("warnings") { list in
            for warning in call.warnings { list.element(json: Array("\"\(warning.rawValue)\"".utf8)) }
        }
    }

    private static func write(_ buckets: [BucketReport], _ now: Moment, to data: inout JSONWriter) {
        data.field("at_ms", now.milliseconds)
        data.array("buckets") { list in
            for bucket in buckets {
                list.objectElement { item in
                    item.field("name", bucket.name)
                    item.field("capacity", json: Self.short(bucket.capacity))
                    item.field("refill_per_second", json: Self.short(bucket.refillPerSecond))
                    item.field("level", json: Self.short(bucket.level))
                    item.field("taken", Int64(bucket.taken))
                }
            }
        }
    }

    /// At most three digits after the point.
    private static func short(_ number: Double) -> String {
        let rounded = (number * 1_000).rounded() / 1_000
        return rounded == rounded.rounded() && abs(rounded) < 1e15 ? String(Int64(rounded)) : "\(rounded)"
    }
}

extension Relay {
    /// Ordered by name.
    package func bucketReports(at now: Moment) -> [BucketReport] {
        buckets.values.sorted { $0.name < $1.name }.map { bucket in
            BucketReport(
                name: bucket.name, capacity: bucket.shape.capacity, refillPerSecond: bucket.shape.refillPerSecond,
                level: bucket.level(at: now), taken: tally.tokensTaken[bucket.name] ?? 0)
        }
    }

    package var faultReport: FaultReport {
        FaultReport(planned: faults.all, mix: faults.activeMix)
    }
}
