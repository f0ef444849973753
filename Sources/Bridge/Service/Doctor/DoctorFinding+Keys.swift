package import AgentKit
package import Files
import Sealing
import Vocabulary

// The keys of sealed chats in their files, as findings.
extension DoctorFinding {
    private static let heldRemedy = "sophon-bridge devices list, then devices allow or devices revoke"
    private static let nobodyRemedy =
        "open the app on the phone while the bridge runs, then see: sophon-bridge devices list"

    package static func devices(
        _ looked: Result<KeyFiles.Opened?, FileError>, _ settings: Configuration.Connection
    ) -> [DoctorFinding] {
        let name = settings.name.text
        let opened: KeyFiles.Opened
        switch looked {
        case .failure(let error):
            return [DoctorFinding(.devices, .failed, error.message, connection: name, exitCode: .unexpected)]
        case .success(nil):
            let words = "no keys of sealed chats yet; the first run makes this bridge a device"
            return [DoctorFinding(.devices, .ok, words, connection: name)]
        case .success(let found?): opened = found
        }
        let figures = opened.ring.figures
        var findings = opened.warnings.map { DoctorFinding(.devices, .warning, $0, connection: name) }
        if let copies = opened.copies {
            findings.append(
                DoctorFinding(
                    .keyFolder, copies.differ ? .failed : .warning, copies.words, remedy: copies.remedy,
                    connection: name, exitCode: copies.differ ? .unexpected : nil))
        }
        let called = figures.deviceID.map { "known to the relay as \($0)" } ?? "not yet known to the relay"
        let phones = "\(Counted.words(figures.pinned, "phone")) may read, \(figures.held) held"
        let sealing = settings.encryption == .off ? "; encryption is off" : ""
        let chats = Counted.words(figures.sealedChats, "sealed chat")
        let words = "\(chats); \(phones); this bridge is \(called)\(sealing)"
        if figures.held > 0 {
            findings.append(DoctorFinding(.devices, .warning, words, remedy: heldRemedy, connection: name))
        } else if figures.pinned == 0, opened.ring.sealsOwnChats(settings.encryption) {
            findings.append(
                DoctorFinding(
                    .devices, .warning, "\(words); runs that no message began wait until there is one",
                    remedy: nobodyRemedy, connection: name))
        } else {
            findings.append(DoctorFinding(.devices, .ok, words, connection: name))
        }
        return findings
    }
}
