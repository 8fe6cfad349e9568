import java.util.Locale;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/** A request of a broker to a controller, or the answer to it, on its way. */
final class Letter {
    enum About { REGISTRATION, HEARTBEAT, PROPOSAL }

    final WalkedBroker broker;
    /** The run of the broker's process that has asked. */
    final int incarnation;
    final About about;
    final boolean answer;
    final ApiMessage data;
    /** The handler of NodeToControllerChannelManager, of the broker's lifecycle manager; null for a proposal. */
    final Object handler;

    private Letter(WalkedBroker broker, int incarnation, About about, boolean answer, ApiMessage data, Object handler) {
        this.broker = broker;
        this.incarnation = incarnation;
        this.about = about;
        this.answer = answer;
        this.data = data;
        this.handler = handler;
    }

    static Letter request(WalkedBroker broker, ApiMessage data, Object handler) {
        About about = data instanceof BrokerRegistrationRequestData ? About.REGISTRATION
            : data instanceof AlterPartitionRequestData ? About.PROPOSAL : About.HEARTBEAT;
        return new Letter(broker, broker.incarnation, about, false, data, handler);
    }

    Letter answered(ApiMessage data) {
        return new Letter(broker, incarnation, about, true, data, handler);
    }

    /** The word by which steps name it; the oldest of a broker's letters with this word is meant. */
    String word() {
        return about.name().toLowerCase(Locale.ROOT) + (answer ? " answer" : "");
    }

    static Errors error(Throwable thrown) {
        return Errors.forException(thrown instanceof java.util.concurrent.CompletionException ? thrown.getCause() : thrown);
    }
}
