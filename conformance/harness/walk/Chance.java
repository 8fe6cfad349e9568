import java.lang.reflect.Field;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import sun.misc.Unsafe;

/**
 * What Kafka draws by itself, made to follow from a seed: topic ids come from SecureRandom, the delays of retries from
 * ThreadLocalRandom, the order of immutable sets from the start of Java. ThreadLocalRandom needs `--add-opens java.base/java.lang=ALL-UNNAMED`.
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

    /** Numbers that differ from the first on: those of `Random` are much alike for seeds that are. */
    static Random of(long seed) {
        return new Random(new SplittableRandom(seed).nextLong());
    }

    /** Before any of Kafka's classes draws, or iterates. */
    static void install() {
        Security.insertProviderAt(new Chance(), 1);
        orderSets();
    }

    /** Java iterates `Set.of` and `Map.of` in an order that it draws when it starts. It decides nothing but the order. */
    private static void orderSets() {
        try {
            Field unsafe = Unsafe.class.getDeclaredField("theUnsafe");
            unsafe.setAccessible(true);
            Unsafe memory = (Unsafe) unsafe.get(null);
            Class<?> immutable = Class.forName("java.util.ImmutableCollections");
            Field salt = immutable.getDeclaredField("SALT32L"), reverse = immutable.getDeclaredField("REVERSE");
            memory.putLong(memory.staticFieldBase(salt), memory.staticFieldOffset(salt), 0L);
            memory.putBoolean(memory.staticFieldBase(reverse), memory.staticFieldOffset(reverse), false);
        } catch (ReflectiveOperationException e) {
            throw new Reflect.Missing("the order of Java's immutable sets: " + e);
        }
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
