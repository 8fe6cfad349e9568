import java.lang.reflect.Field;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;

/**
 * What Kafka draws by itself, made to follow from a seed: topic ids come from SecureRandom, the delays of retries from
 * ThreadLocalRandom. The latter needs `--add-opens java.base/java.lang=ALL-UNNAMED`.
 */
public final class Chance extends Provider {
    private static final Random DRAWN = new Random();

    private Chance() {
        super("walk", "1", "numbers that follow from a seed");
        put("SecureRandom.walk", Seeded.class.getName());
    }

    /** Numbers in place of the machine's. */
    public static final class Seeded extends SecureRandomSpi {
        @Override
        protected void engineSetSeed(byte[] seed) { }

        @Override
        protected void engineNextBytes(byte[] bytes) {
            DRAWN.nextBytes(bytes);
        }

        @Override
        protected byte[] engineGenerateSeed(int count) {
            return new byte[count];
        }
    }

    /** Before any of Kafka's classes draws. */
    static void install() {
        Security.insertProviderAt(new Chance(), 1);
    }

    static void follow(long seed) {
        DRAWN.setSeed(seed);
        ThreadLocalRandom.current();  // which would seed it later
        try {
            Field field = Thread.class.getDeclaredField("threadLocalRandomSeed");
            field.setAccessible(true);
            field.setLong(Thread.currentThread(), seed);
        } catch (ReflectiveOperationException e) {
            throw new Reflect.Missing("the seed of ThreadLocalRandom: " + e);
        }
    }
}
