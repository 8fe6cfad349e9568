import java.lang.invoke.MethodType;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntPredicate;
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

    /** A method, a field, or an accessor of a class that was looked up, and others whose names have the same place. */
    private static final class Found {
        final Class<?> type;
        final String name;
        final int kind;
        final Object member;
        final Found next;

        Found(Class<?> type, String name, int kind, Object member, Found next) {
            this.type = type;
            this.name = name;
            this.kind = kind;
            this.member = member;
            this.next = next;
        }
    }

    private static final int PLACES = 1 << 12;
    private static final AtomicReferenceArray<Found> FOUND = new AtomicReferenceArray<>(PLACES);

    /** Beside methods, whose kind is the number of their arguments. */
    private static final int FIELD = -1, ACCESSOR = -2, FEWEST = -3, OWN = -4;

    /** What else was looked up in a class: Java copies what it is asked for, and searches all of it each time. */
    private static final class Known {
        final Map<String, Object> constants = new ConcurrentHashMap<>();
        final Map<List<Class<?>>, Optional<Constructor<?>>> constructors = new ConcurrentHashMap<>();
        volatile Set<String> declared;
        volatile Constructor<?> longest;
    }

    private static final Map<Executable, Class<?>[]> TYPES = new ConcurrentHashMap<>();
    private static final Map<Executable, String[]> TYPE_NAMES = new ConcurrentHashMap<>();

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
        return invoke(target, called(target.getClass(), name, arguments), arguments);
    }

    /** Call the first of these methods without arguments that exists. */
    static Object callFirst(Object target, String... names) {
        for (String name : names)
            if (known(target.getClass(), name, 0) != null || !all(target.getClass(), name, 0).isEmpty())
                return call(target, name);
        throw new Missing("no method " + String.join(" or ", names) + " in " + target.getClass().getName());
    }

    /** Call a static method. */
    static Object callStatic(Class<?> type, String name, Object... arguments) {
        return invoke(null, called(type, name, arguments), arguments);
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
        Object known = known(type, name, arguments);
        return known == null ? keep(type, name, arguments, only(all(type, name, arguments), type, what(name, arguments))) : (Method) known;
    }

    /** The same for these arguments, which tell it from others of its name. */
    private static Method called(Class<?> type, String name, Object... arguments) {
        Object known = known(type, name, arguments.length);
        if (known != null)
            return (Method) known;
        List<Method> all = all(type, name, arguments.length);
        if (all.size() < 2)
            return keep(type, name, arguments.length, only(all, type, what(name, arguments.length)));
        all.removeIf(each -> !takes(types(each), arguments));
        Method found = only(all, type, what(name, arguments.length) + " " + Arrays.toString(arguments));
        found.setAccessible(true);
        return found;
    }

    private static String what(String name, int arguments) {
        return "method " + name + " with " + arguments + " arguments";
    }

    private static boolean takes(Class<?>[] types, Object[] arguments) {
        for (int number = 0; number < types.length; number++)
            if (arguments[number] == null ? types[number].isPrimitive() : !MethodType.methodType(types[number]).wrap().returnType().isInstance(arguments[number]))
                return false;
        return true;
    }

    /** The only one of these: Java may list them in another order each time it starts. */
    private static <T extends Executable> T only(List<T> all, Class<?> type, String what) {
        if (all.size() == 1)
            return all.get(0);
        throw new Missing((all.isEmpty() ? "no " : "more than one ") + what + " in " + type.getName());
    }

    /** Each name has its place, and few classes have methods of one name: to find one again costs a comparison or two. */
    private static Object known(Class<?> type, String name, int kind) {
        for (Found each = FOUND.get(name.hashCode() & PLACES - 1); each != null; each = each.next)
            if (each.type == type && each.kind == kind && each.name.equals(name))
                return each.member;
        return null;
    }

    private static <T extends AccessibleObject> T keep(Class<?> type, String name, int kind, T found) {
        found.setAccessible(true);
        FOUND.updateAndGet(name.hashCode() & PLACES - 1, next -> new Found(type, name, kind, found, next));
        return found;
    }

    /** The methods of a class or else of the nearest of its ancestors, public ones first. */
    private static List<Method> all(Class<?> type, String name, int arguments) {
        List<Method> found = named(type.getMethods(), name, each -> each == arguments);
        for (Class<?> at = type; at != null && found.isEmpty(); at = at.getSuperclass())
            found = named(at.getDeclaredMethods(), name, each -> each == arguments);
        return found;
    }

    private static List<Method> named(Method[] all, String name, IntPredicate arguments) {
        return Arrays.stream(all).filter(each -> each.getName().equals(name) && arguments.test(each.getParameterCount()) && !each.isBridge())
            .collect(Collectors.toList());
    }

    /** The public method of this name with the fewest arguments: a release may have added some. */
    static Method byName(Class<?> type, String name) {
        Object known = known(type, name, FEWEST);
        if (known != null)
            return (Method) known;
        List<Method> found = named(type.getMethods(), name, any -> true);
        int fewest = found.stream().mapToInt(Method::getParameterCount).min().orElse(0);
        found.removeIf(each -> each.getParameterCount() > fewest);
        return keep(type, name, FEWEST, only(found, type, "method " + name));
    }

    /** The method of this name that a class itself has, with whatever parameters. */
    static Method own(Class<?> type, String name) {
        Object known = known(type, name, OWN);
        return known == null ? keep(type, name, OWN, only(named(type.getDeclaredMethods(), name, any -> true), type, "method " + name)) : (Method) known;
    }

    /** The types of the parameters. */
    static Class<?>[] types(Executable of) {
        return TYPES.computeIfAbsent(of, Executable::getParameterTypes);
    }

    /** The types of the parameters with their own parameters, by name. */
    static String[] typeNames(Executable of) {
        return TYPE_NAMES.computeIfAbsent(of, key -> Arrays.stream(key.getGenericParameterTypes()).map(Type::getTypeName).toArray(String[]::new));
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
        return make(longest, supply(types(longest), by));
    }

    static Constructor<?> longest(Class<?> type) {
        return longest(type, "");
    }

    /** The constructor with the most parameters; of several, the one that names a type: always the same for a class. */
    static Constructor<?> longest(Class<?> type, String named) {
        Known known = KNOWN.get(type);
        if (known.longest == null) {
            List<Constructor<?>> all = Arrays.stream(type.getDeclaredConstructors()).collect(Collectors.toList());
            int most = all.stream().mapToInt(Constructor::getParameterCount).max().orElse(0);
            all.removeIf(each -> each.getParameterCount() < most);
            if (all.size() > 1)
                all.removeIf(each -> !String.join(" ", typeNames(each)).contains(named));
            known.longest = only(all, type, "constructor");
            known.longest.setAccessible(true);
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
        Object known = known(type, name, FIELD);
        return known == null ? keep(type, name, FIELD, declared(type, name)) : (Field) known;
    }

    private static Field declared(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            try {
                return at.getDeclaredField(name);
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
        Object accessor = known(target.getClass(), name, ACCESSOR);
        if (accessor == null)
            accessor = accessor(target.getClass(), name);
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
            return keep(type, name, ACCESSOR, type.getField(name));
        } catch (NoSuchFieldException e) {
            return keep(type, name, ACCESSOR, method(type, name, 0));
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
