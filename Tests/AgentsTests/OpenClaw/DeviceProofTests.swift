import FoundationEssentials
import Testing

@testable import OpenClaw

@Suite("What a device signs")
struct DeviceProofTests {
    private struct Vectors: Decodable {
        struct Case: Decodable {
            struct Input: Decodable {
                var deviceId: String
                var clientId: String
                var clientMode: String
                var role: String
                var scopes: [String]
                var signedAtMs: Int
                var token: String?
                var nonce: String?
                var platform: String?
                var deviceFamily: String?
            }
            var name: String
            var version: String
            var input: Input
            var payload: String
        }
        var cases: [Case]
    }

    @Test("the text is that of the vectors, for the two versions that are alive")
    func vectors() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Fixtures/vectors/openclaw-device-auth.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: try Data(contentsOf: path))
        let alive = vectors.cases.filter { DeviceProof.Version(rawValue: $0.version) != nil }
        #expect(alive.count >= 6)
        for vector in alive {
            let input = vector.input
            let version = try #require(DeviceProof.Version(rawValue: vector.version))
            let proof = DeviceProof(
                deviceID: input.deviceId, clientID: input.clientId, clientMode: input.clientMode, role: input.role,
                scopes: input.scopes, signedAtMilliseconds: input.signedAtMs, token: input.token,
                nonce: input.nonce ?? "", platform: input.platform ?? "", deviceFamily: input.deviceFamily)
            #expect(proof.text(version) == vector.payload, "\(vector.name)")
        }
    }
}
