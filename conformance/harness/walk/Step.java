import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** One step of a schedule: a kind, a word, and numbers. As text it is a line that says who does what. */
final class Step {
    /** A kind of step. In its text %w is a word, %d a number, and %b any number of brokers. */
    interface Kind {
        String text();

        String name();
    }

    final Kind kind;
    final String word;
    final int[] numbers;

    Step(Kind kind, String word, int... numbers) {
        this.kind = kind;
        this.word = word;
        this.numbers = numbers;
    }

    /** The brokers with which the text ends. */
    List<Integer> brokers(int from) {
        return Arrays.stream(numbers, from, numbers.length).boxed().collect(Collectors.toList());
    }

    @Override
    public String toString() {
        StringBuilder said = new StringBuilder();
        int next = 0;
        for (String part : split(kind.text()))
            switch (part) {
                case "%w":
                    said.append(word);
                    break;
                case "%d":
                    said.append(numbers[next++]);
                    break;
                case "%b":
                    said.append(brokers(next).stream().map(each -> "b" + each).collect(Collectors.joining(" ")));
                    break;
                default:
                    said.append(part);
            }
        return said.toString();
    }

    private static String[] split(String text) {
        return text.split("(?=%[wdb])|(?<=%[wdb])");
    }

    /** The step that a line says, or null if it says none. */
    static Step parse(String line, Kind[] kinds) {
        for (Kind kind : kinds) {
            String pattern = Arrays.stream(split(kind.text())).map(Step::matching).collect(Collectors.joining());
            Matcher found = Pattern.compile(pattern).matcher(line.trim());
            if (found.matches())
                return of(kind, found);
        }
        return null;
    }

    private static String matching(String part) {
        switch (part) {
            case "%w":
                return "(?<word>[a-z]+(?: [a-z]+)*)";
            case "%d":
                return "\\d{1,9}";
            case "%b":
                return "b\\d{1,9}(?: b\\d{1,9})*";
            default:
                return Pattern.quote(part);
        }
    }

    private static Step of(Kind kind, Matcher found) {
        String word = kind.text().contains("%w") ? found.group("word") : null;
        int[] numbers = Pattern.compile("\\d+").matcher(found.group()).results().mapToInt(each -> Integer.parseInt(each.group())).toArray();
        return new Step(kind, word, numbers);
    }
}
