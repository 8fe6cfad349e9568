import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.util.List;
import java.util.Map;
import javassist.CannotCompileException;
import javassist.ClassPool;
import javassist.CtBehavior;
import javassist.CtClass;
import javassist.bytecode.AttributeInfo;
import javassist.bytecode.CodeAttribute;
import javassist.bytecode.LocalVariableAttribute;
import javassist.bytecode.LocalVariableTypeAttribute;
import javassist.expr.ExprEditor;
import javassist.expr.MethodCall;

/** The harness, in which a class of Kafka's is replaced by one with a defect, and put right again, while the process goes on. */
public final class Patched {
    private static Instrumentation instrumentation;
    private static ClassDefinition original;

    private Patched() { }

    public static void premain(String arguments, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] arguments) throws Exception {
        Harness harness = new Harness(new File(arguments[0]));
        Harness.serve(batch -> {
            switch (batch.path(0).path("do").asText()) {
                case "patch":
                    patch(batch.get(0));
                    return List.of(Map.of("brokers", Map.of()));
                case "restore":
                    instrumentation.redefineClasses(original);
                    return List.of(Map.of("brokers", Map.of()));
                default:
                    return harness.all(batch);
            }
        });
        Runtime.getRuntime().halt(0);
    }

    /** Let the calls of one method inside another do something else. Where there are none, the patch is wrong. */
    private static void patch(JsonNode o) throws Exception {
        String name = o.get("class").asText(), inside = o.get("inside").asText(), called = o.get("call").asText(), instead = o.get("instead").asText();
        CtClass patched = new ClassPool(true).get(name);
        Class<?> loaded = Class.forName(name);
        original = new ClassDefinition(loaded, patched.toBytecode());
        patched.defrost();
        int[] changes = {0};
        for (CtBehavior each : patched.getDeclaredBehaviors())
            if (each.getName().equals(inside)) {
                each.instrument(new ExprEditor() {
                    @Override
                    public void edit(MethodCall call) throws CannotCompileException {
                        if (call.getMethodName().equals(called)) {
                            call.replace(instead);
                            changes[0]++;
                        }
                    }
                });
                finish(each, patched.getClassPool());
            }
        if (changes[0] == 0)
            throw new IllegalArgumentException(name + "#" + inside + " does not call " + called);
        instrumentation.redefineClasses(new ClassDefinition(loaded, patched.toBytecode()));
    }

    private static void finish(CtBehavior method, ClassPool pool) throws Exception {
        CodeAttribute code = method.getMethodInfo().getCodeAttribute();
        if (code == null)
            return;
        List<AttributeInfo> attributes = code.getAttributes();
        attributes.removeIf(each -> each instanceof LocalVariableAttribute || each instanceof LocalVariableTypeAttribute);
        method.getMethodInfo().rebuildStackMap(pool);
    }
}
