-- Columns have frames (storage/column.h): value = base + row * step + unit * packed.

CREATE OR REPLACE FUNCTION unpack(packed bytea, count bigint) RETURNS SETOF bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    plain bytea := packed || ''::bytea;
    width int := get_byte(plain, 0);
    words bigint[] := ARRAY[0, 0, 1]; -- base, step, unit
    bits bigint := 8 * width;
    value bigint;
    place bigint := 9;
BEGIN
    FOR w IN 1..CASE width WHEN 254 THEN 3 WHEN 255 THEN 2 ELSE 1 END LOOP
        value := 0;
        FOR b IN REVERSE 8..1 LOOP
            value := (value << 8) | get_byte(plain, 8 * (w - 1) + b);
        END LOOP;
        words[w] := value;
    END LOOP;
    IF width = 254 THEN
        bits := get_byte(plain, 25);
        place := 26;
    ELSIF width = 255 THEN
        bits := 0;
    END IF;
    FOR i IN 0..count - 1 LOOP
        value := 0;
        IF bits >= 8 THEN
            FOR b IN REVERSE bits / 8 - 1..0 LOOP
                value := (value << 8) | get_byte(plain, (place + b)::int);
            END LOOP;
            place := place + bits / 8;
        ELSIF bits > 0 THEN
            value := (get_byte(plain, (place + i * bits / 8)::int) >> (i * bits % 8)::int)
                     & ((1 << bits::int) - 1);
        END IF;
        RETURN NEXT words[1] + i * words[2] + words[3] * value;
    END LOOP;
END $$;
