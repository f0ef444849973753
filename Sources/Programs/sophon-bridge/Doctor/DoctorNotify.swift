import AgentKit
import BridgeService
import Children
import Glibc
import Vocabulary

/// Check of `doctor` that the recipient of notices exists. Nothing is sent to it.
struct DoctorNotify {
    private let notify: Configuration.Notify

    init(_ configuration: Configuration) { notify = configuration.notify }

    /// Nil if no recipient is configured.
    var finding: DoctorFinding? {
        switch notify.recipient {
        case .command(let words, let withheld): finding(of: words, withheld: withheld)
        case .webhook(let address, _): finding(of: address.address)
        case nil: nil
        }
    }

    private func finding(of words: [String], withheld: [String]) -> DoctorFinding {
        let plan = ChildPlan(
            arguments: words, environment: ChildEnvironment(dropping: withheld), folder: "/",
            life: .withBridge(grace: .seconds(2)), pipes: .input)
        guard let fault = SystemChildren.fault(of: plan) else {
            return DoctorFinding(.notify, .ok, "the program of notify.command is there; not tried")
        }
        return DoctorFinding(
            .notify, .failed, "notify.command: \(fault.message)",
            remedy: "install it, or set notify.command to its whole path", exitCode: .usage)
    }

    private func finding(of address: WebAddress) -> DoctorFinding {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(address.host, nil, &hints, &found)
        if let found { freeaddrinfo(found) }
        guard status == 0 else {
            return DoctorFinding(
                .notify, .failed,
                "notify.webhook: the name \(address.host) cannot be found: \(String(cString: gai_strerror(status)))",
                remedy: "check notify.webhook, and the network", exitCode: .usage)
        }
        return DoctorFinding(.notify, .ok, "the name of notify.webhook, \(address.host), is known; not tried")
    }
}
