import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Classes, constructors and methods of Kafka by name, so that one compiled harness serves releases that renamed and moved them. */
final class Reflect {
    /** A class, constructor, method or field that this harness needs and this Kafka does not have. */
    static final class Missing extends RuntimeException {
        Missing(String what) {
            super(what);
        }
    }

    private static final Map<String, Class<?>> CLASSES = new ConcurrentHashMap<>();

    /** What was looked up in a class: Java copies what it is asked for, and searches all of it each time. */
    private static final class Known {
        final Map<String, Method[]> methods = new ConcurrentHashMap<>();
        final Map<String, Field> fields = new ConcurrentHashMap<>();
        final Map<String, Object> accessors = new ConcurrentHashMap<>();
        final Map<String, Object> constants = new ConcurrentHashMap<>();
        final Map<List<Class<?>>, Optional<Constructor<?>>> constructors = new ConcurrentHashMap<>();
        volatile Set<String> declared;
        volatile Constructor<?> longest;
    }

    private static final Map<Executable, Class<?>[]> TYPES = new ConcurrentHashMap<>();

    private static final ClassValue<Known> KNOWN = new ClassValue<>() {
        @Override
        protected Known computeValue(Class<?> type) {
            return new Known();
        }
    };

    private Reflect() { }

    /** The first of these classes that exists. */
    static Class<?> type(String... names) {
        Class<?> known = CLASSES.get(names[0]);
        if (known != null)
            return known;
        for (String name : names) {
            try {
                Class<?> found = Class.forName(name);
                CLASSES.put(names[0], found);
                return found;
            } catch (ClassNotFoundException e) {
                // an older or newer release calls it otherwise
            }
        }
        throw new Missing("no class " + String.join(" or ", names));
    }

    static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Call a method by its name and its number of arguments; an exception that it throws is passed on as it is. */
    static Object call(Object target, String name, Object... arguments) {
        return invoke(target, method(target.getClass(), name, arguments.length), arguments);
    }

    /** Call the first of these methods without arguments that exists. */
    static Object callFirst(Object target, String... names) {
        for (String name : names)
            if (find(target.getClass(), name, 0) != null)
                return call(target, name);
        throw new Missing("no method " + String.join(" or ", names) + " in " + target.getClass().getName());
    }

    /** Call a static method. */
    static Object callStatic(Class<?> type, String name, Object... arguments) {
        return invoke(null, method(type, name, arguments.length), arguments);
    }

    static Object invoke(Object target, Method method, Object... arguments) {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw sneak(e.getCause());
        } catch (IllegalAccessException | IllegalArgumentException e) {
            throw new Missing(method + " cannot be called with " + Arrays.toString(arguments) + ": " + e.getMessage());
        }
    }

    @SuppressWarnings("unchecked")
    static <T extends Throwable> RuntimeException sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }

    /** A method of a class or of one of its ancestors, private ones included. */
    static Method method(Class<?> type, String name, int arguments) {
        Map<String, Method[]> methods = KNOWN.get(type).methods;
        Method[] byCount = methods.get(name);
        if (byCount != null && arguments < byCount.length && byCount[arguments] != null)
            return byCount[arguments];
        Method found = find(type, name, arguments);
        if (found == null)
            throw new Missing("no method " + name + " with " + arguments + " arguments in " + type.getName());
        found.setAccessible(true);
        byCount = byCount == null ? new Method[arguments + 1] : Arrays.copyOf(byCount, Math.max(byCount.length, arguments + 1));
        byCount[arguments] = found;
        methods.put(name, byCount);
        return found;
    }

    private static Method find(Class<?> type, String name, int arguments) {
        for (Method each : type.getMethods())
            if (each.getName().equals(name) && each.getParameterCount() == arguments && !each.isBridge())
                return each;
        for (Class<?> at = type; at != null; at = at.getSuperclass())
            for (Method each : at.getDeclaredMethods())
                if (each.getName().equals(name) && each.getParameterCount() == arguments && !each.isBridge())
                    return each;
        return null;
    }

    /** The public method of this name with the fewest arguments: a release may have added some. */
    static Method byName(Class<?> type, String name) {
        return KNOWN.get(type).methods.computeIfAbsent(name + "/fewest", key -> {
            Method found = null;
            for (Method each : type.getMethods())
                if (each.getName().equals(name) && !each.isBridge() && (found == null || each.getParameterCount() < found.getParameterCount()))
                    found = each;
            if (found == null)
                throw new Missing("no method " + name + " in " + type.getName());
            found.setAccessible(true);
            return new Method[] {found};
        })[0];
    }

    /** The method of this name that a class itself has, with whatever parameters. */
    static Method own(Class<?> type, String name) {
        return KNOWN.get(type).methods.computeIfAbsent(name + "/declared", key -> {
            for (Method each : type.getDeclaredMethods())
                if (each.getName().equals(name)) {
                    each.setAccessible(true);
                    return new Method[] {each};
                }
            throw new Missing("no " + type.getSimpleName() + "#" + name);
        })[0];
    }

    /** The types of the parameters. */
    static Class<?>[] types(Executable of) {
        return TYPES.computeIfAbsent(of, Executable::getParameterTypes);
    }

    /** Arguments by the types of the parameters, in their order. */
    static Object[] supply(Class<?>[] types, Function<Class<?>, Object> by) {
        Object[] arguments = new Object[types.length];
        for (int number = 0; number < types.length; number++)
            arguments[number] = by.apply(types[number]);
        return arguments;
    }

    /** A new instance by the constructor with the most parameters. */
    static Object construct(Class<?> type, Function<Class<?>, Object> by) {
        Constructor<?> longest = longest(type);
        Object[] arguments = supply(types(longest), by);
        try {
            return longest.newInstance(arguments);
        } catch (InvocationTargetException e) {
            throw sneak(e.getCause());
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            throw new Missing(longest + " cannot be called with " + Arrays.toString(arguments) + ": " + e.getMessage());
        }
    }

    static Constructor<?> longest(Class<?> type) {
        Known known = KNOWN.get(type);
        if (known.longest == null) {
            Constructor<?> longest = Arrays.stream(type.getDeclaredConstructors())
                .max((a, b) -> Integer.compare(a.getParameterCount(), b.getParameterCount()))
                .orElseThrow(() -> new Missing("no constructor of " + type.getName()));
            longest.setAccessible(true);
            known.longest = longest;
        }
        return known.longest;
    }

    /** The constructor with these parameters, or null. */
    static Constructor<?> constructor(Class<?> type, Class<?>... parameters) {
        return KNOWN.get(type).constructors.computeIfAbsent(Arrays.asList(parameters), key -> {
            try {
                Constructor<?> found = type.getDeclaredConstructor(parameters);
                found.setAccessible(true);
                return Optional.of(found);
            } catch (NoSuchMethodException e) {
                return Optional.empty();
            }
        }).orElse(null);
    }

    static Object make(Constructor<?> constructor, Object... arguments) {
        try {
            return constructor.newInstance(arguments);
        } catch (InvocationTargetException e) {
            throw sneak(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new Missing(constructor + ": " + e.getMessage());
        } catch (IllegalArgumentException e) {
            throw new Missing(constructor + " cannot be called with " + Arrays.toString(arguments) + ": " + e.getMessage());
        }
    }

    static Field field(Class<?> type, String name) {
        return KNOWN.get(type).fields.computeIfAbsent(name, key -> declared(type, key));
    }

    private static Field declared(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            try {
                Field found = at.getDeclaredField(name);
                found.setAccessible(true);
                return found;
            } catch (NoSuchFieldException e) {
                // an ancestor may have it
            }
        }
        throw new Missing("no field " + name + " in " + type.getName());
    }

    static Object read(Object target, String name) {
        try {
            return field(target.getClass(), name).get(target);
        } catch (IllegalAccessException e) {
            throw new Missing("field " + name + " of " + target.getClass().getName() + ": " + e.getMessage());
        }
    }

    /** What a public field or an accessor without arguments gives: classes became records over the releases. */
    static Object get(Object target, String name) {
        Object accessor = KNOWN.get(target.getClass()).accessors.computeIfAbsent(name, key -> accessor(target.getClass(), key));
        if (accessor instanceof Method)
            return invoke(target, (Method) accessor);
        try {
            return ((Field) accessor).get(target);
        } catch (IllegalAccessException e) {
            throw new Missing("field " + name + " of " + target.getClass().getName() + ": " + e.getMessage());
        }
    }

    private static Object accessor(Class<?> type, String name) {
        try {
            return type.getField(name);
        } catch (NoSuchFieldException e) {
            return method(type, name, 0);
        }
    }

    static boolean hasField(Class<?> type, String name) {
        return KNOWN.get(type).constants.computeIfAbsent("has " + name, key ->
            Arrays.stream(type.getFields()).anyMatch(each -> each.getName().equals(name))) == Boolean.TRUE;
    }

    static Object constant(Class<?> type, String name) {
        try {
            return type.getField(name).get(null);
        } catch (ReflectiveOperationException e) {
            throw new Missing("no " + name + " in " + type.getName());
        }
    }

    static Object enumOf(Class<?> type, String name) {
        return KNOWN.get(type).constants.computeIfAbsent(name, key -> {
            for (Object each : type.getEnumConstants())
                if (((Enum<?>) each).name().equals(key))
                    return each;
            throw new Missing("no " + key + " in " + type.getName());
        });
    }

    /** Whether a class itself has a method of this name. */
    static boolean has(Class<?> type, String method) {
        Known known = KNOWN.get(type);
        if (known.declared == null)
            known.declared = Arrays.stream(type.getDeclaredMethods()).map(Method::getName).collect(Collectors.toSet());
        return known.declared.contains(method);
    }

    /** An interface by a function from a method's name and its arguments to what it returns. */
    static Object proxy(Class<?> type, BiFunction<String, Object[], Object> by) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
            switch (method.getName()) {
                case "hashCode":
                    return System.identityHashCode(self);
                case "equals":
                    return self == arguments[0];
                case "toString":
                    return type.getSimpleName();
                default:
                    Object result = by.apply(method.getName(), arguments == null ? new Object[0] : arguments);
                    return result == null ? nothing(method.getReturnType()) : result;
            }
        });
    }

    private static Object nothing(Class<?> type) {
        if (type == int.class)
            return 0;
        return type == long.class ? (Object) 0L : type == boolean.class ? (Object) false : null;
    }
}
