// Faults that are made on purpose, to show that the simulation would catch them. They exist where PLANTED_FAULTS is set: in debug
// builds, and in what `make sim` builds. The program that is shipped has none of them, which `make size-check` looks after.
#if PLANTED_FAULTS
    package enum PlantedFault: String, Hashable, Sendable, CaseIterable {
        /// A delta that is retried has more text than it had.
        case retryRecoalesces
        /// The end goes out although a delta of its turn waits or is under way.
        case endBeforeLastDelta
        /// Delta keys leave the epoch out.
        case keyWithoutEpoch
        /// The bucket believes that it is full, whatever is under way.
        case bucketTrustsRemaining
        /// A snapshot is appended to the text.
        case snapshotAppended
        /// A task is finished once a channel instead of once.
        case taskFinishedTwice
        /// Posts go out before the placeholder's message id is known.
        case placeholderNotAwaited
        /// One lane is served until its end, so that others starve.
        case laneStarves

        /// An update is acknowledged before what it changed is durable.
        case acknowledgedEarly
        /// A call that the relay has forgotten is sent again as if it were new.
        case staleKeySent
        /// A number in a frame is taken as it comes, whatever it is.
        case sequenceUnbounded
        /// Payloads of cards wait without a bound.
        case bytesUnbounded
        /// A gateway that asks for pairing is not asked again.
        case pairingGivenUp
        /// A stopped connection that gets a new token opens its socket alone.
        case newTokenWithoutLanes
        /// What a Stop owes is not known to the next process.
        case abortForgotten
        /// An ask under a known id is the known one, whatever it asks.
        case fingerprintForgotten
        /// A card that does not show all can be allowed.
        case cutAllowed
        /// An unanswered card is a denial to the agent.
        case expiryForwarded
        /// A tap on an earlier card decides the ask that has a newer one.
        case oldCardTaken
        /// After a Stop an ask without a card comes back.
        case askedAfterStop
        /// A sign of life brings no card back.
        case signOfLifeMissed
        /// A card shows the server's summary in place of the input.
        case summaryShown
        /// A card shows a command without its program.
        case programDropped
        /// A Stop leaves unconfirmed approvals in force, and a new link sends them again.
        case allowRepeated
        /// A Stop does not take back the message that waits for the disk.
        case sendAfterStop
        /// Another message of a turn is acknowledged, and nothing more.
        case secondMessageLost
        /// "Always" is granted without the limit that the person set.
        case scopeWidened

        /// A refusing status without the relay's envelope counts as its word.
        case pageBelieved
        /// A turn whose placeholder is refused is given up, answer and all.
        case openRefusedEndsTurn
        /// An approval that is refused once is denied at the agent, with fewer fields or not.
        case approvalDeniedAtOnce
        /// A turn that is given up aborts a run that the bridge did not start.
        case mirroredRunAborted
        /// A job takes every run of its session, as long as the chat is open.
        case privateRunTaken
        /// A job whose chat the person deleted continues in it.
        case deletedChatKept

        /// A message leaves before the model that it names is set.
        case modelAfterMessage
        /// What a message without a model leads back from is not known to the next process.
        case choiceForgotten
        /// The runs of a chat that is gone go on, and its messages go to the agent.
        case endedChatAnswered
        /// A tool that is ended from outside continues.
        case toolGoesOn

        /// The answer to a question is given twice.
        case answeredTwice
        /// A Stop does not take back an answer that waits for the disk.
        case answeredAfterStop

        /// A retry of a sealed call is sealed again.
        case sealedAgain
        /// A sealed turn ends in the open.
        case endInTheOpen
        /// A turn continues under whatever key its chat is given.
        case keyTakenInUse
        /// A chat's key is wrapped for a device that no person has allowed.
        case unpinnedGranted
        /// A chat that has ended takes any key that it did not have.
        case keyAfterEnd
        /// Keys without the book of devices are wrapped for the device that is announced next.
        case bookForgotten
        /// Chats whose keys are lost count as chats that never had one.
        case lostKeysForgotten
        /// A chat takes another key although no device was revoked.
        case keyWithoutRevocation
        /// A key that was replaced comes back.
        case replacedKeyTaken
        /// A chat of our own that comes back from the archive counts as one of a phone.
        case ownChatForgotten
        /// The key of an open turn goes with the next one.
        case openKeyForgotten
        /// Each pairing pins what is announced behind it.
        case pairedAnew
        /// Another installation's token has chats go on in the open.
        case movedIntoTheOpen
        /// An older copy of the file of the devices counts as the newest.
        case olderBookTaken
        /// A chat takes any number of keys after a revocation.
        case keysWithoutEnd
        /// An envelope is taken for a second message.
        case envelopeTakenTwice

        /// The files of a message stay on the disk when the agent has taken it.
        case filesLeftBehind
        /// A message with files that the agent may have is handed over by the next process, too.
        case filesHandedOverAgain
        /// A prompt leaves before its pictures are read.
        case promptBeforePictures
        /// A sealed message that had to wait for its key has no files.
        case sealedFilesForgotten

        /// A prompt goes to the next process when the one that had it dies.
        case promptResent
        /// A piece of text behind the end of its message is taken.
        case deltaAfterEnd

        /// A prompt leaves again where it is not known what became of it.
        case promptRepeatedInDoubt
        /// An ask of a program is answered twice.
        case askAnsweredTwice
        /// A yes that waits to be written leaves behind the Stop.
        case yesBehindStop
        /// A run that was stopped begins again with the next process of the agent.
        case stopForgottenOverLoss
        /// The messages of one chat go to the conversation of another.
        case chatsMixedUp

        /// A ring that has lost frames counts as one that has them all.
        case overflowTakenWhole
        /// A permission of a session that no chat has is shown in a chat.
        case strangersPermission
        /// Text behind a hole is appended.
        case holeAppended
        /// What answers another client's message within our run is taken for ours.
        case othersWordsTaken

        /// A stop of a run that has not begun, or waits between two attempts, is taken for done.
        case earlyStopForgotten
        /// An attempt behind words is the answer, and the next one is not shown.
        case retryNotShown
        /// An option is sent as its value, which the server takes for a part of a label.
        case answeredByValue
        /// No session of a chat at rest makes room for another.
        case placeKept

        /// A prompt goes to a thread in which a turn goes on.
        case busyThreadSteered
        /// An approval is known by the number of its request.
        case approvalByNumber
        /// The text of an interrupted turn is taken from its record.
        case interruptedFromHistory

        /// The text is that of `chat`, which joins and leaves out.
        case textFromChat
        /// A history's row is known by its bare key alone.
        case answerNotFound
        /// A model call that failed counts as the end of an answer.
        case errorTakenForEnd
        /// A run that no row knows yet is given up, though its gateway is the same.
        case livingRunGivenUp
        /// A message that ran leaves again.
        case sentAgainThoughItRan
        /// The run that begins next in a busy chat is the answer, whoever asked for it.
        case foreignRunAdopted
        /// The run that has our message's words is another's.
        case ownRunNotAdopted

        /// A removal that a call learns of leaves the agent working.
        case removalUnheard
        /// The relay's own reasons to cancel end runs that the bridge did not begin.
        case reasonIgnored
        /// A question that the relay would not show counts as read.
        case refusedQuestionStays
        /// A prompt that pi does not take within seconds ends its process, whatever it does meanwhile.
        case compactingKilled
        /// A Stop that came before the loop began has stopped it.
        case stopForgottenBeforeLoop
        /// The phone's word for a level goes to the model.
        case effortVerbatim
        /// Messages are as old as this machine's clock has it.
        case clockIgnored
        /// A tool that is at work for long counts as silence.
        case toolAlarmed
        /// The bubble goes on saying that nothing is heard, though the run goes on.
        case statusAfterText
        /// A new ask under the name of a settled one counts as the settled one.
        case askRepeatedUnknown

        /// A message from before the card refuses it.
        case earlierWordsRefuse
        /// A message that begins with a yes allows.
        case wordsAllow
        /// Words refuse the oldest card, of whatever chat.
        case wordsRefuseOldest
        /// Words that were handed over are handed over again by the next process.
        case wordsSentAgain

        /// A notice has the words of a sealed chat.
        case sealedWordsInNotice

        /// Found by the generated courses of the ring of keys (`HostileRelay` in its tests), which no whole world has.
        package static let ofKeyRing: [PlantedFault] = [
            .unpinnedGranted, .keyAfterEnd, .bookForgotten, .lostKeysForgotten, .keyWithoutRevocation,
            .replacedKeyTaken,
            .ownChatForgotten, .openKeyForgotten, .envelopeTakenTwice, .pairedAnew, .movedIntoTheOpen, .olderBookTaken,
            .keysWithoutEnd,
        ]
        /// Of the engine of agents that are a child of each chat, whatever their dialect.
        package static let ofEngine: [PlantedFault] = [
            .promptRepeatedInDoubt, .askAnsweredTwice, .yesBehindStop, .stopForgottenOverLoss, .chatsMixedUp,
        ]
        /// Found by tests of their own: what shows them is too rare in a world.
        package static let ofConversations: [PlantedFault] = [
            .earlyStopForgotten, .statusAfterText,
        ]
        /// Those that a world from a seed is to find.
        package static var ofWorlds: [PlantedFault] {
            allCases.filter { !(ofKeyRing + ofConversations).contains($0) }
        }

        /// The one that is planted for the task that runs; one at a time.
        @TaskLocal package static var planted: PlantedFault?

        package var isPlanted: Bool { Self.planted == self }
    }
#endif
